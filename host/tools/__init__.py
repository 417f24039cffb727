"""The tools a model may ask for, each with its passport, and the walls they work behind."""
