"""The MCP side of the bridge: the server, its transports, sessions, prompts, resources and completion."""
