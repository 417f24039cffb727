"""The host: where lanes, handoffs, memory and browser meet under one policy (docs/architecture.md)."""
