"""The host: where lanes, handoffs, memory and browser meet under one policy. Its layers are drawn in docs/architecture.md."""
