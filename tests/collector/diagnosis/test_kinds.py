"""The closed list of kinds."""

from flyball_collector.diagnosis.conditions import Conditions
from flyball_collector.diagnosis.kinds import BY_NAME, KINDS


def test_every_explanation_names_a_kind_and_none_goes_round_in_a_circle() -> None:
    """Suppression has an order: building it fails on a circle."""
    assert len(BY_NAME) == len(KINDS)
    for kind in KINDS:
        assert set(kind.explained_by) <= set(BY_NAME), kind.name
    Conditions()
