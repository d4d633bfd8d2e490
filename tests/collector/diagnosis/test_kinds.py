"""The list of kinds."""

from flyball_collector.diagnosis.conditions import Conditions
from flyball_collector.diagnosis.kinds import BY_NAME, KINDS


def test_explanations_name_known_kinds_without_cycles() -> None:
    """Conditions are ordered by their causes; a cycle would fail here."""
    assert len(BY_NAME) == len(KINDS)
    for kind in KINDS:
        assert set(kind.explained_by) <= set(BY_NAME), kind.name
    Conditions()
