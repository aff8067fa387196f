"""The HTTP side of the bridge: the ASGI app, authentication and connections."""
