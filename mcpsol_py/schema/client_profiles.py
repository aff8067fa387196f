"""Profiles of MCP clients: the JSON Schema keywords that each one accepts, and schemas fitted to a profile.

json_schema.py applies a profile while it builds schemas from the types of a program. `fitted` applies one to a finished
schema, such as those of the bridge's own tools.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["PROFILES", "Profile", "fitted", "or_null"]


@dataclass(frozen=True, slots=True)
class Profile:
    """The limits of one kind of client.

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

    @property
    def unknown_keywords(self) -> frozenset[str]:
        """The keywords that the client does not understand."""
        closing = frozenset() if self.closed else frozenset({"additionalProperties"})
        return closing if self.limits else closing | _LIMITS


#: Keywords that narrow or complete a value.
_LIMITS = frozenset(
    {
        "pattern",
        "format",
        "default",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
    }
)

PROFILES: dict[str, Profile] = {
    "default": Profile("default"),
    "claude": Profile("claude"),
    "openai": Profile("openai"),
    "codex": Profile("codex"),
    "cursor": Profile("cursor"),
    "vscode": Profile("vscode"),
    "gemini": Profile("gemini", unions=False, closed=False, depth=8),
    "strict": Profile(
        "strict",
        unions=False,
        type_lists=True,
        all_required=True,
        limits=False,
        depth=4,
        nodes=500,
    ),
}


def fitted(schema: Mapping[str, Any], profile: Profile) -> dict[str, Any]:
    """Return *schema* without the keywords that clients of *profile* do not understand.

    If all keys must be given, optional ones may be null, and an object with any content becomes JSON text.
    """
    out = dict(schema)
    for keyword in profile.unknown_keywords & out.keys():
        del out[keyword]
    kind = out.get("type")
    if kind == "array" and isinstance(out.get("items"), Mapping):
        out["items"] = fitted(out["items"], profile)
    if kind == "object":
        fit = _fitted_object if "properties" in out else _fitted_free_object
        return fit(out, profile)
    return out


def _fitted_free_object(schema: dict[str, Any], profile: Profile) -> dict[str, Any]:
    """Fit an object that may have any properties."""
    if profile.all_required:
        about = f"{schema.get('description', 'an object')}; as JSON text"
        return {"type": "string", "description": about}
    return schema if profile.closed else {**schema, "properties": {}}


def _fitted_object(schema: dict[str, Any], profile: Profile) -> dict[str, Any]:
    properties = {
        name: fitted(inner, profile) for name, inner in schema["properties"].items()
    }
    if not profile.all_required:
        return {**schema, "properties": properties}
    for name in properties.keys() - schema.get("required", ()):
        properties[name] = or_null(properties[name])
    everything = {"required": list(properties), "additionalProperties": False}
    return {**schema, **everything, "properties": properties}


def or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of null or a value of *schema*, as a list of types."""
    out = {**schema, "type": _with(schema.get("type"), "null")}
    if "enum" in schema:
        out["enum"] = _with(schema["enum"], None)
    return out


def _with(values: Any, added: str | None) -> list[Any]:
    """Return *values*, one or a list, with *added* at the end if it is not among them."""
    known = values if isinstance(values, list) else [values]
    return known if added in known else [*known, added]
