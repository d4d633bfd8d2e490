"""The policy: what may be changed without a person, what a person must approve, and what nobody may change."""

from enum import StrEnum

from flyball_collector.adjustments.declared.ranks import POLICIES
from flyball_collector.adjustments.settings import AdjustmentsSettings


class Permission(StrEnum):
    """The answer of the policy to one change."""

    NO = "no"
    ASK = "ask"
    YES = "yes"


def policy_in_force(settings: AdjustmentsSettings, client: str, person: str | None) -> str:
    """Return the policy of a run: the client's or, if a person has set one, that one; never above the operator's limit.

    The client's `off` is the word of the training's owner, so nobody raises it.
    """
    wanted = client if client == "off" or person is None else person
    return min(wanted, settings.policy if settings.enabled else "off", key=POLICIES.index)


def permission(policy: str, safety: int, when: str, settings: AdjustmentsSettings) -> Permission:
    """Return the answer of the policy in force to a change that no person asked for."""
    if policy == "off":
        return Permission.NO
    if policy == "auto" and safety <= min(settings.auto_safety, 2) and when != "restart":
        return Permission.YES
    return Permission.ASK
