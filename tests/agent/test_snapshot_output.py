"""Values as people read them in `flyball agent --once`."""

import pytest

from flyball_agent.snapshot_output import human
from flyball_proto.layout import Column
from flyball_proto.metric import gauge


@pytest.mark.parametrize(
    ("unit", "value", "expected"),
    [
        ("tasks", 1.0, "1 task"),
        ("tasks", 0.0, "0 tasks"),
        ("tasks", 2.0, "2 tasks"),
        ("tasks", 1.5, "1.5 tasks"),
        ("processes", 1.0, "1 process"),
        ("switches", 1.0, "1 switch"),
        ("pages", 1.0, "1 page"),
        ("bytes/s", 1.0, "1 bytes/s"),
        ("tasks", None, "unavailable"),
    ],
)
def test_one_of_a_unit_is_in_the_singular(unit: str, value: float | None, expected: str) -> None:
    """One task is not "1 tasks"; other counts and fractions are in the plural."""
    assert human(Column(gauge("test_value", unit, "Test.")), value) == expected
