"""Reading single values and sections."""

from enum import StrEnum

import pytest

from flyball_reports.specification.document import read_document
from flyball_reports.specification.sections import SectionKey, SpecificationFaults, read_section
from flyball_reports.specification.source_value import SourceValue
from flyball_reports.specification.value_readers import (
    Reader,
    Unfit,
    choice,
    flag,
    gigabytes,
    integer,
    many,
    member,
    number,
    text,
)


class Colour(StrEnum):
    """Something to choose from."""

    DARK_RED = "dark-red"
    BLUE = "blue"


@pytest.mark.parametrize(
    ("reader", "value", "read"),
    [
        (integer(), 8, 8),
        (integer(), "8k", 8000),
        (integer(), "1e9", 10**9),
        (integer(), 4.0, 4),
        (number(), "26B", 26e9),
        (number(), "30 billion", 30e9),
        (gigabytes(), 80, 80.0),
        (gigabytes(), "80GB", 80.0),
        (gigabytes(), "512 GiB", 512.0),
        (gigabytes(), "1.5TB", 1536.0),
        (number(above=0), 0.5, 0.5),
        (choice(["adamw", "sgd"]), "AdamW", "adamw"),
        (member(Colour), "dark_red", Colour.DARK_RED),
        (text(), 7, "7"),
        (flag(), True, True),
        (many(integer()), 3, (3,)),
        (many(integer()), [SourceValue(1, 1), SourceValue("2k", 1)], (1, 2000)),
    ],
)
def test_common_notations_are_read(reader: Reader, value: object, read: object) -> None:
    """8k, 26B and 1e9 are numbers, 80GB is a size, and a single value is a list with one item."""
    assert reader.read(SourceValue(value, 1)) == read  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reader", "value", "expected"),
    [
        (integer(), "eight", "an integer of at least 1"),
        (integer(), 2.5, "an integer"),
        (integer(), True, "an integer"),
        (integer(at_most=10), 11, "at most 10"),
        (integer(), "1e400", "an integer"),
        (integer(), 10**400, "an integer"),
        (number(above=0), 0, "above 0"),
        (number(), ".nan", "a number"),
        (number(), "k", "a number"),
        (number(), "", "a number"),
        (gigabytes(), "GB", "a number above 0, in GB"),
        (gigabytes(), "0GB", "a number above 0, in GB"),
        (choice(["adamw", "sgd"]), "adam", "one of adamw, sgd"),
        (text(), None, "text"),
        (flag(), "maybe", "true or false"),
        (many(integer()), [], "1 to 64"),
        (many(integer()), [SourceValue("x", 1)], "a list, each an integer"),
    ],
)
def test_invalid_values_raise_with_what_is_expected(reader: Reader, value: object, expected: str) -> None:
    """The message states what to write instead."""
    with pytest.raises(Unfit, match=expected):
        reader.read(SourceValue(value, 1))  # type: ignore[arg-type]


def test_a_similar_word_is_suggested() -> None:
    """Also within a list."""
    for reader, value in ((choice(["adamw", "sgd"]), "adam"), (many(choice(["adamw"])), [SourceValue("adam", 1)])):
        with pytest.raises(Unfit) as raised:
            reader.read(SourceValue(value, 1))
        assert raised.value.hint == "did you mean 'adamw'?"


KEYS = (SectionKey("layers", integer(), "how many", required=True), SectionKey("name", text(), "what it is called"))


def test_all_problems_of_a_section_are_reported_at_once() -> None:
    """Unknown keys, wrong values and missing keys are reported, each at its line."""
    root = read_document("model:\n  layres: 3\n  name: [1]\n")
    faults = SpecificationFaults([], root)
    assert isinstance(root.value, dict)
    assert read_section("model", root.value["model"], KEYS, faults) == {}
    messages = {(each.line, each.key): each.message for each in faults.problems}
    assert messages[2, "model.layres"] == "unknown key 'layres'; did you mean 'layers'?"
    assert messages[3, "model.name"] == "expected text, not a list"
    assert messages[1, "model.layers"].startswith("is missing; expected an integer of at least 1 (how many)")


def test_a_key_without_a_value_counts_as_missing() -> None:
    """If the key is required, it is reported as missing."""
    root = read_document("model:\n  layers:\n  name:\n")
    faults = SpecificationFaults([], root)
    assert isinstance(root.value, dict)
    assert read_section("model", root.value["model"], KEYS, faults) == {}
    (missing,) = faults.problems
    assert missing.message.startswith("is missing; expected an integer of at least 1")


def test_a_scalar_in_place_of_a_section_is_reported() -> None:
    """The message names the section's keys."""
    faults = SpecificationFaults([], read_document("model: 3\n"))
    read_section("model", SourceValue(3, 1), KEYS, faults)
    assert faults.problems[0].message == "expected keys (layers, name), not 3"
