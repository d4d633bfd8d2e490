"""Documents of plans against the schema that is published with them."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from flyball_planner.api import plan
from flyball_planner.plan.make import make_plan
from flyball_planner.report.document import document
from flyball_planner.report.testing import hostile_plan, sample_plan
from flyball_planner.specification.bundled import example_text
from flyball_planner.specification.read import read_specification

SCHEMA: dict[str, Any] = json.loads((Path(__file__).parents[3] / "docs/plan.schema.json").read_text(encoding="utf-8"))
TYPES: Mapping[str, tuple[type, ...]] = {
    "null": (type(None),), "boolean": (bool,), "integer": (int,), "number": (int, float), "string": (str,),
    "array": (list, tuple), "object": (dict,),
}  # fmt: skip
KNOWN_WORDS = {"$schema", "$defs", "$ref", "title", "description", "default", "type", "properties", "required",
               "items", "anyOf"}  # fmt: skip


def faults(value: object, rule: Mapping[str, Any], at: str = "") -> Iterator[str]:
    """Where a value breaks a rule of JSON Schema, in the words that our schema uses."""
    assert set(rule) <= KNOWN_WORDS, f"the schema uses {set(rule) - KNOWN_WORDS}, which are not judged here"
    if "$ref" in rule:
        yield from faults(value, SCHEMA["$defs"][rule["$ref"].rpartition("/")[2]], at)
    if "anyOf" in rule and all(any(faults(value, each, at)) for each in rule["anyOf"]):
        yield f"{at}: {value!r} is none of {rule['anyOf']}"
    if "type" in rule:
        wanted = TYPES[rule["type"]]
        if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
            yield f"{at}: {value!r} is no {rule['type']}"
            return
    if isinstance(value, dict):
        yield from (f"{at}: {name} is missing" for name in rule.get("required", ()) if name not in value)
        known = rule.get("properties", {})
        yield from (f"{at}: {name} is not told of" for name in value if known and name not in known)
        for name, each in value.items():
            yield from faults(each, known.get(name, {}), f"{at}.{name}")
    if isinstance(value, list | tuple):
        for number, each in enumerate(value):
            yield from faults(each, rule.get("items", {}), f"{at}[{number}]")


def told(made: Any) -> dict[str, Any]:
    """A plan's document as a reader gets it."""
    read: dict[str, Any] = json.loads(json.dumps(document(made)))
    return read


@pytest.mark.parametrize("name", ["linear_regression", "deep_learning", "transformer"])
def test_examples_keep_the_schema(name: str) -> None:
    """Each key of an example's document is told of, has its type, and none is missing."""
    written = told(make_plan(read_specification(example_text(name), name)))
    assert list(faults(written, SCHEMA)) == []
    assert written["schema_version"] in SCHEMA["title"]
    assert written["computation"]["estimated_train_time_human"]
    assert 0 < written["memory"]["utilization_percent"] < 100


@pytest.mark.parametrize("made", [sample_plan(), hostile_plan()], ids=["sample", "hostile"])
def test_invented_plans_keep_the_schema(made: Any) -> None:
    """Whatever the values are, the document's form is the schema's."""
    assert list(faults(told(made), SCHEMA)) == []


def test_a_plan_beyond_all_bounds_keeps_the_schema() -> None:
    """A model that neither fits nor ends has figures all the same."""
    training = {"batch_size": 1, "sequence": 131_072, "tokens": 1e15}
    made = plan(model="llama-3.1-405b", hardware="GTX_1660Ti_fp32", training=training)
    assert list(faults(told(made), SCHEMA)) == []


def test_faults_are_seen() -> None:
    """The judge of these tests is no judge that lets everything pass."""
    written = told(sample_plan())
    del written["memory"]["verdict"]
    written["computation"]["mfu_percent"] = "high"
    written["surprise"] = 1
    said = "\n".join(faults(written, SCHEMA))
    assert ".memory: verdict is missing" in said
    assert ".computation.mfu_percent: 'high' is none of" in said
    assert "surprise is not told of" in said
