"""What the model sees: the stable prefix, the history, the dynamic tail."""
