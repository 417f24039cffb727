"""The only path by which a tool call runs."""
