"""What the person chose and what the risk suggests: allow, ask or deny."""
