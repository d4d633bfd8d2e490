"""How single values are read, and sections of them."""

from enum import StrEnum

import pytest

from flyball_reports.specification.document import read_document
from flyball_reports.specification.entry import Entry
from flyball_reports.specification.sections import Findings, Key, read_section
from flyball_reports.specification.value_readers import Reader, Unfit, choice, flag, many, member, number, text, whole


class Colour(StrEnum):
    """Something to choose from."""

    DARK_RED = "dark-red"
    BLUE = "blue"


@pytest.mark.parametrize(
    ("reader", "value", "read"),
    [
        (whole(), 8, 8),
        (whole(), "8k", 8000),
        (whole(), "1e9", 10**9),
        (whole(), 4.0, 4),
        (number(), "26B", 26e9),
        (number(above=0), 0.5, 0.5),
        (choice(["adamw", "sgd"]), "AdamW", "adamw"),
        (member(Colour), "dark_red", Colour.DARK_RED),
        (text(), 7, "7"),
        (flag(), True, True),
        (many(whole()), 3, (3,)),
        (many(whole()), [Entry(1, 1), Entry("2k", 1)], (1, 2000)),
    ],
)
def test_values_are_read_as_people_write_them(reader: Reader, value: object, read: object) -> None:
    """8k, 26B and 1e9 are numbers; a single value is a list of one."""
    assert reader.read(Entry(value, 1)) == read  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reader", "value", "expected"),
    [
        (whole(), "eight", "a whole number of at least 1"),
        (whole(), 2.5, "a whole number"),
        (whole(), True, "a whole number"),
        (whole(at_most=10), 11, "at most 10"),
        (whole(), "1e400", "a whole number"),
        (whole(), 10**400, "a whole number"),
        (number(above=0), 0, "above 0"),
        (number(), ".nan", "a number"),
        (number(), "k", "a number"),
        (number(), "", "a number"),
        (choice(["adamw", "sgd"]), "adam", "did you mean adamw"),
        (text(), None, "text"),
        (flag(), "maybe", "true or false"),
        (many(whole()), [], "1 to 64"),
        (many(whole()), [Entry("x", 1)], "a list, each a whole number"),
    ],
)
def test_what_does_not_fit_is_told_with_what_would(reader: Reader, value: object, expected: str) -> None:
    """A message says what to write instead."""
    with pytest.raises(Unfit, match=expected):
        reader.read(Entry(value, 1))  # type: ignore[arg-type]


KEYS = (Key("layers", whole(), "how many", required=True), Key("name", text(), "what it is called"))


def test_all_faults_of_a_section_are_told_at_once() -> None:
    """Unknown keys with the one that was meant, wrong values, missing keys; each at its line."""
    root = read_document("model:\n  layres: 3\n  name: [1]\n")
    findings = Findings([], root)
    assert isinstance(root.value, dict)
    assert read_section("model", root.value["model"], KEYS, findings) == {}
    told = {(each.line, each.key): each.message for each in findings.problems}
    assert told[2, "model.layres"] == "unknown key 'layres'; did you mean 'layers'?"
    assert told[3, "model.name"] == "expected text, not a list"
    assert told[1, "model.layers"].startswith("is missing; expected a whole number of at least 1 (how many)")


def test_a_key_without_a_value_is_as_if_it_were_not_there() -> None:
    """Unless it is needed: then that is what is wrong."""
    root = read_document("model:\n  layers:\n  name:\n")
    findings = Findings([], root)
    assert isinstance(root.value, dict)
    assert read_section("model", root.value["model"], KEYS, findings) == {}
    (missing,) = findings.problems
    assert missing.message.startswith("is missing; expected a whole number of at least 1")


def test_a_section_that_is_no_section_is_told() -> None:
    """Its keys are named."""
    findings = Findings([], read_document("model: 3\n"))
    read_section("model", Entry(3, 1), KEYS, findings)
    assert findings.problems[0].message == "expected keys (layers, name), not 3"
