"""Secrets: references, the broker that lends values, and the masking that takes them out again."""
