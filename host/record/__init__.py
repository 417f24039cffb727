"""What the host writes into journals: the closed union of events and the projections over them."""
