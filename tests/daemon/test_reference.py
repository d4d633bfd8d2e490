import tomllib
from typing import Annotated

import msgspec
from msgspec import Meta

from flyball_daemon.reference import example, markdown, toml_value


class Inner(msgspec.Struct, frozen=True):
    most: Annotated[int, Meta(ge=0, description="How many | at most.")] = 3


class Outer(msgspec.Struct, frozen=True):
    names: Annotated[tuple[str, ...], Meta(description="Whom.")] = ("a", "b")
    inner: Inner = Inner()


def test_the_table_has_every_key_and_keeps_its_shape() -> None:
    """A `|` in a description does not end its cell, and each table has its heading."""
    text = markdown(Outer, "X_")
    assert '| `names` | list of text | `["a", "b"]` | Whom. |' in text
    assert "### `[inner]`" in text
    assert "How many \\| at most." in text
    assert "`X_INNER__MOST`" in text


def test_the_example_is_a_file_without_any_value() -> None:
    """The example file is valid and sets nothing."""
    text = example(Outer, "Settings of X.")
    assert text.startswith("# Settings of X.\n")
    assert tomllib.loads(text) == {"inner": {}}
    assert "#most = 3" in text


def test_values_are_written_as_toml_reads_them() -> None:
    """Text, booleans, numbers and lists are read back unchanged."""
    for value in ('a"\\b', True, 1.5, 7, ["x", "y"]):
        assert tomllib.loads(f"v = {toml_value(value)}")["v"] == value
