"""The part of the governor that HTTP handlers use."""

from typing import Protocol

from flyball_collector.adjustments.adjustment import Adjustment, Value
from flyball_collector.adjustments.core.book import PolicyChoice
from flyball_collector.adjustments.declared.ranks import RunValues


class AdjustmentSource(Protocol):
    """All adjustments and the adjustable values of runs. Requests of people may raise `AdjustmentRefused`."""

    def find(self, *, run: str = "", host: str = "", state: str = "", limit: int = 100) -> list[Adjustment]:
        """Return adjustments, the newest first."""

    def get(self, adjustment: str) -> Adjustment | None:
        """Return an adjustment."""

    def values(self, run: str) -> RunValues | None:
        """Return the adjustable values of a run."""

    def policy(self, run: str) -> str:
        """Return the policy that is in force for a run."""

    def policy_choice(self, run: str) -> PolicyChoice | None:
        """Return the policy that a person has set for a run."""

    def tried(self, run: str) -> list[Adjustment]:
        """Return the adjustments of a run that took effect and are over, the newest first."""

    def propose(self, run: str, name: str, to: Value, *, who: str, why: str = "") -> Adjustment:
        """Offer a change that a person asks for."""

    def approve(self, adjustment: str, who: str, why: str = "") -> Adjustment:
        """Approve a proposed adjustment."""

    def veto(self, adjustment: str, who: str, why: str = "") -> Adjustment:
        """End an adjustment that was not applied yet."""

    def undo(self, adjustment: str, who: str, why: str = "") -> Adjustment:
        """Offer the inverse of an adjustment that was applied. Return the inverse."""

    def set_policy(self, run: str, policy: str, who: str, why: str = "") -> str:
        """Set the policy of a run. Return what is in force under the operator's limit."""
