"""A schema that says what a tool takes, as one kind of client takes schemas (json_schema.py makes those of a program's
types; this is for the others, of the bridge's own tools)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcpsol_py.schema.json_schema import Profile

__all__ = ["fitted"]

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
    """*schema* without what clients of *profile* do not know. Where all keys must be given, optional ones may be null,
    and an object of any content is JSON text."""
    out = {key: inner for key, inner in schema.items() if profile.limits or key not in _LIMITS}
    if not profile.closed:
        out.pop("additionalProperties", None)
    if out.get("type") == "array" and isinstance(out.get("items"), Mapping):
        out["items"] = fitted(out["items"], profile)
    if out.get("type") != "object":
        return out
    properties: Mapping[str, Any] | None = out.get("properties")
    if properties is None:
        if not profile.all_required:
            return {**out, "properties": {}} if not profile.closed else out
        about = f"{out.get('description', 'an object')}; as JSON text"
        return {"type": "string", "description": about}
    needed = set(out.get("required", ()))
    fit = {name: fitted(inner, profile) for name, inner in properties.items()}
    if profile.all_required:
        fit = {name: inner if name in needed else _or_null(inner) for name, inner in fit.items()}
        out |= {"required": list(fit), "additionalProperties": False}
    out["properties"] = fit
    return out


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """*schema*, or null."""
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    out = {**schema, "type": [*kinds, "null"] if "null" not in kinds else kinds}
    if "enum" in schema and None not in schema["enum"]:
        out["enum"] = [*schema["enum"], None]
    return out
