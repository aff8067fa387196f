"""The bridge over HTTP: the ASGI app, authentication, limits and connections."""

from importlib import import_module
from typing import TYPE_CHECKING

from mcpsol_py._moved import renamed

if TYPE_CHECKING:
    from mcpsol_py.bridge.http.app import http_app, run_http
    from mcpsol_py.bridge.http.asgi import App
    from mcpsol_py.bridge.http.auth import Tokens, Verifier
    from mcpsol_py.bridge.http.connections import listen, serve_app, taken_ports
    from mcpsol_py.bridge.http.oauth import OAuth, is_loopback
    from mcpsol_py.bridge.http.rate_limit import RateLimit
    from mcpsol_py.bridge.http.settings import HttpSettings

__all__ = [
    "App",
    "HttpSettings",
    "OAuth",
    "RateLimit",
    "Tokens",
    "Verifier",
    "http_app",
    "is_loopback",
    "taken_ports",
    "listen",
    "run_http",
    "serve_app",
]

#: Imported on first use, because app.py imports the whole MCP SDK.
_MODULES = {
    "App": "asgi",
    "HttpSettings": "settings",
    "OAuth": "oauth",
    "RateLimit": "rate_limit",
    "Tokens": "auth",
    "Verifier": "auth",
    "http_app": "app",
    "is_loopback": "oauth",
    "taken_ports": "connections",
    "listen": "connections",
    "run_http": "app",
    "serve_app": "connections",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        return renamed(__name__, name)
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
