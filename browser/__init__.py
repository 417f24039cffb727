"""The way out: lists of hosts, the egress proxy, and from part 7 of the plan on the browser behind its trust shield."""
