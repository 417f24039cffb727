"""The composition root: what starts and stops, in which order."""
