"""Handoffs between groups: signed, depth-tracked envelopes and their transport. Empty until part 6 of the plan."""
