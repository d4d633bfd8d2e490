"""A plan as JSON, and the schema that describes it: both follow from the records of `flyball_planner.plan.plan`.

`python -m flyball_planner.report.document FILE` writes the schema.
"""

import math
import sys
from pathlib import Path
from typing import Any

import msgspec

from flyball_planner.plan.plan import SCHEMA_VERSION, Plan


def document(plan: Plan) -> dict[str, Any]:
    """The plan as plain values; what is not finite is unknown, since JSON has no such numbers."""
    known: dict[str, Any] = _finite(msgspec.to_builtins(plan))
    return {"schema_version": known.pop("schema_version"), **known}


def json_text(plan: Plan) -> str:
    """The JSON document."""
    return _text(document(plan))


def schema() -> dict[str, Any]:
    """The JSON Schema of the document."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A Flyball plan, schema version {SCHEMA_VERSION}",
        **msgspec.json.schema(Plan),
    }


def schema_text() -> str:
    """The schema as its file has it."""
    return _text(schema())


def _text(value: Any) -> str:
    import json  # noqa: PLC0415  most plans are read in a terminal

    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


if __name__ == "__main__":
    Path(sys.argv[1] if len(sys.argv) > 1 else "docs/plan.schema.json").write_text(schema_text(), encoding="utf-8")
