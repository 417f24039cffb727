"""Child processes that the supervisor owns."""
