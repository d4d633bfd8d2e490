"""The policy of a run under the operator's limit."""

import pytest

from flyball_collector.adjustments.core.policy import Permission, permission, policy_in_force
from flyball_collector.adjustments.settings import AdjustmentsSettings


@pytest.mark.parametrize(
    ("ceiling", "client", "person", "expected"),
    [
        ("auto", "auto", None, "auto"),
        ("ask", "auto", None, "ask"),
        ("off", "auto", "auto", "off"),
        ("auto", "ask", "auto", "auto"),
        ("auto", "auto", "ask", "ask"),
        ("auto", "auto", "off", "off"),
        ("auto", "off", "auto", "off"),
        ("ask", "ask", "auto", "ask"),
    ],
)
def test_a_person_overrides_the_client_below_the_ceiling(
    ceiling: str, client: str, person: str | None, expected: str
) -> None:
    """A person's policy replaces the client's, except its `off`, and nothing exceeds the operator's limit."""
    settings = AdjustmentsSettings(enabled=True, policy=ceiling)
    assert policy_in_force(settings, client, person) == expected


def test_nothing_is_allowed_while_adjustments_are_off() -> None:
    """Without `enabled` every policy is off."""
    assert policy_in_force(AdjustmentsSettings(policy="auto"), "auto", "auto") == "off"


@pytest.mark.parametrize(
    ("policy", "auto_safety", "safety", "when", "expected"),
    [
        ("off", 2, 1, "step", Permission.NO),
        ("ask", 2, 1, "step", Permission.ASK),
        ("auto", 1, 1, "step", Permission.YES),
        ("auto", 1, 2, "step", Permission.ASK),
        ("auto", 2, 2, "epoch", Permission.YES),
        ("auto", 2, 3, "step", Permission.ASK),
        ("auto", 2, 4, "step", Permission.ASK),
        ("auto", 2, 1, "restart", Permission.ASK),
    ],
)
def test_only_safe_changes_need_nobody(
    policy: str, auto_safety: int, safety: int, when: str, expected: Permission
) -> None:
    """Changes above the automatic class, of classes 3 and 4, and at restarts always wait for a person."""
    settings = AdjustmentsSettings(enabled=True, policy="auto", auto_safety=auto_safety)
    assert permission(policy, safety, when, settings) is expected
