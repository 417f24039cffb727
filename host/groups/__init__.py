"""A group: its lanes, desk and journal as plain classes, and the Ray shell around them."""
