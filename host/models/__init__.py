"""Providers: one inference per call, over the wire formats that model servers speak."""
