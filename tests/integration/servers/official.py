"""A tool server written with the official SDK, over stdio or, with a port, over streamable HTTP."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("official")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


if __name__ == "__main__":
    server.run("stdio")
