"""The browser behind its trust shield. Empty until part 7 of the plan."""
