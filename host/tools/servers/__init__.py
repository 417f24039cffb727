"""Tool servers (MCP): their processes, what they say of their tools, and calls to them."""
