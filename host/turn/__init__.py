"""One run of the model loop: budgets, repetition, resume, and the one final event."""
