"""What different MCP clients accept in the schema of a tool, and schemas fitted to it.

json_schema.py applies a profile while it builds schemas from the types of a program. `fitted` applies one to a finished
schema, such as those of the bridge's own tools.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["PROFILES", "Profile", "fitted"]


@dataclass(frozen=True, slots=True)
class Profile:
    """What one kind of client accepts.

    `unions`: anyOf below the root. `type_lists`: "type": ["x", "null"]. `closed`: it understands additionalProperties
    false. `all_required`: every key must be given, absent ones as null. `limits`: it understands pattern, minimum,
    minItems and the like. `depth`, `nodes`: how deep and how large the schema of one argument may be; deeper and larger
    parts are asked for as JSON text. `about`: the longest description, in characters.
    """

    name: str
    unions: bool = True
    type_lists: bool = False
    closed: bool = True
    all_required: bool = False
    limits: bool = True
    depth: int = 12
    nodes: int = 2000
    about: int = 1024


PROFILES: dict[str, Profile] = {
    "default": Profile("default"),
    "claude": Profile("claude"),
    "openai": Profile("openai"),
    "codex": Profile("codex"),
    "cursor": Profile("cursor"),
    "vscode": Profile("vscode"),
    "gemini": Profile("gemini", unions=False, closed=False, depth=8),
    "strict": Profile(
        "strict", unions=False, type_lists=True, all_required=True, limits=False, depth=4, nodes=500
    ),
}

_LIMITS = (
    "pattern",
    "format",
    "default",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
)


def fitted(schema: Mapping[str, Any], profile: Profile) -> dict[str, Any]:
    """Return *schema* without the keywords that clients of *profile* do not understand.

    If all keys must be given, optional ones may be null, and an object with any content becomes JSON text.
    """
    out = {key: inner for key, inner in schema.items() if profile.limits or key not in _LIMITS}
    if not profile.closed:
        out.pop("additionalProperties", None)
    if out.get("type") == "array" and isinstance(out.get("items"), Mapping):
        out["items"] = fitted(out["items"], profile)
    if out.get("type") != "object":
        return out
    if "properties" not in out:
        return _fitted_free_object(out, profile)
    return _fitted_object(out, profile)


def _fitted_free_object(schema: dict[str, Any], profile: Profile) -> dict[str, Any]:
    """Fit an object that may have any properties."""
    if profile.all_required:
        about = f"{schema.get('description', 'an object')}; as JSON text"
        return {"type": "string", "description": about}
    return schema if profile.closed else {**schema, "properties": {}}


def _fitted_object(schema: dict[str, Any], profile: Profile) -> dict[str, Any]:
    properties = {name: fitted(inner, profile) for name, inner in schema["properties"].items()}
    if not profile.all_required:
        return {**schema, "properties": properties}
    required = set(schema.get("required", ()))
    for name, inner in properties.items():
        if name not in required:
            properties[name] = _or_null(inner)
    everything = {"required": list(properties), "additionalProperties": False}
    return {**schema, **everything, "properties": properties}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of null or a value of *schema*."""
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    out = {**schema, "type": kinds if "null" in kinds else [*kinds, "null"]}
    if "enum" in schema and None not in schema["enum"]:
        out["enum"] = [*schema["enum"], None]
    return out
