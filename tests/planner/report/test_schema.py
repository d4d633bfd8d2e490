"""Check JSON documents of plans against the published schema."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from flyball_planner.api import plan
from flyball_planner.plan.make import make_plan
from flyball_planner.report.document import document
from flyball_planner.report.testing import hostile_plan, sample_plan
from flyball_planner.specification.example_files import example_text
from flyball_planner.specification.reader import read_specification

SCHEMA: dict[str, Any] = json.loads((Path(__file__).parents[3] / "docs/plan.schema.json").read_text(encoding="utf-8"))
TYPES: Mapping[str, tuple[type, ...]] = {
    "null": (type(None),), "boolean": (bool,), "integer": (int,), "number": (int, float), "string": (str,),
    "array": (list, tuple), "object": (dict,),
}  # fmt: skip
KNOWN_WORDS = {"$schema", "$defs", "$ref", "title", "description", "default", "type", "properties", "required",
               "items", "anyOf"}  # fmt: skip


def faults(value: object, rule: Mapping[str, Any], at: str = "") -> Iterator[str]:
    """Yield the places where a value violates a JSON Schema, for the keywords that the schema uses."""
    assert set(rule) <= KNOWN_WORDS, f"the schema uses {set(rule) - KNOWN_WORDS}, which are not checked here"
    if "$ref" in rule:
        yield from faults(value, SCHEMA["$defs"][rule["$ref"].rpartition("/")[2]], at)
    if "anyOf" in rule and all(any(faults(value, each, at)) for each in rule["anyOf"]):
        yield f"{at}: {value!r} is none of {rule['anyOf']}"
    if "type" in rule:
        types = TYPES[rule["type"]]
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            yield f"{at}: {value!r} is not of type {rule['type']}"
            return
    if isinstance(value, dict):
        yield from (f"{at}: {name} is missing" for name in rule.get("required", ()) if name not in value)
        known = rule.get("properties", {})
        yield from (f"{at}: {name} is not in the schema" for name in value if known and name not in known)
        for name, each in value.items():
            yield from faults(each, known.get(name, {}), f"{at}.{name}")
    if isinstance(value, list | tuple):
        for number, each in enumerate(value):
            yield from faults(each, rule.get("items", {}), f"{at}[{number}]")


def loaded_document(made: Any) -> dict[str, Any]:
    """Return a plan's document as loaded from JSON."""
    loaded: dict[str, Any] = json.loads(json.dumps(document(made)))
    return loaded


@pytest.mark.parametrize("name", ["linear_regression", "deep_learning", "transformer"])
def test_examples_keep_the_schema(name: str) -> None:
    """Every key of an example's document is in the schema, has its type, and none is missing."""
    content = loaded_document(make_plan(read_specification(example_text(name), name)))
    assert list(faults(content, SCHEMA)) == []
    assert content["schema_version"] in SCHEMA["title"]
    assert content["computation"]["estimated_train_time_human"]
    assert 0 < content["memory"]["utilization_percent"] < 100


@pytest.mark.parametrize("made", [sample_plan(), hostile_plan()], ids=["sample", "hostile"])
def test_invented_plans_keep_the_schema(made: Any) -> None:
    """A document follows the schema for any values."""
    assert list(faults(loaded_document(made), SCHEMA)) == []


def test_an_infeasible_plan_keeps_the_schema() -> None:
    """The plan of a model that does not fit and takes too long also follows the schema."""
    training = {"batch_size": 1, "sequence": 131_072, "tokens": 1e15}
    made = plan(model="llama-3.1-405b", hardware="GTX_1660Ti_fp32", training=training)
    assert list(faults(loaded_document(made), SCHEMA)) == []


def test_violations_are_found() -> None:
    """The checker of these tests finds missing keys, wrong types and unknown keys."""
    content = loaded_document(sample_plan())
    del content["memory"]["verdict"]
    content["computation"]["mfu_percent"] = "high"
    content["surprise"] = 1
    found = "\n".join(faults(content, SCHEMA))
    assert ".memory: verdict is missing" in found
    assert ".computation.mfu_percent: 'high' is none of" in found
    assert "surprise is not in the schema" in found
