"""The classification of sections by name."""

import pytest

from flyball_collector.fleet.sections import is_own, is_waiting


@pytest.mark.parametrize(
    ("name", "own", "waiting"),
    [
        ("forward", True, False),
        ("data_loading", True, False),
        ("grad-sync", False, True),
        ("AllReduce", False, True),
        ("backward", False, False),
        ("optimizer_step", False, False),
    ],
)
def test_names_of_sections(name: str, own: bool, waiting: bool) -> None:
    """The name shows whether other ranks can delay a rank in the section."""
    assert (is_own(name), is_waiting(name)) == (own, waiting)
