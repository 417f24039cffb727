"""The HTTP API: one module per kind of thing that can be asked for. Handlers translate and decide nothing."""
