"""Plans as JSON, and their JSON Schema, both generated from `flyball_planner.plan.plan`."""

import math
from typing import Any

import msgspec

from flyball_planner.plan.plan import SCHEMA_VERSION, Plan


def document(plan: Plan) -> dict[str, Any]:
    """Return a plan as plain values. Numbers that are not finite become null, because JSON lacks them."""
    known: dict[str, Any] = _finite(msgspec.to_builtins(plan))
    return {"schema_version": known.pop("schema_version"), **known}


def json_text(plan: Plan) -> str:
    """Return a plan as a JSON document."""
    return _text(document(plan))


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the document."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A Flyball plan, schema version {SCHEMA_VERSION}",
        **msgspec.json.schema(Plan),
    }


def schema_text() -> str:
    """Return the schema as text."""
    return _text(schema())


def _text(value: Any) -> str:
    import json  # noqa: PLC0415  only for JSON

    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
