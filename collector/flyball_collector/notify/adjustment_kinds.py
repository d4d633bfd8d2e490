"""The kinds of notifications about adjustments, beside the kinds of the diagnosis."""

from collections.abc import Mapping

from flyball_collector.diagnosis.kinds import BY_NAME

WAITS_FOR_APPROVAL = "adjustment_proposed"

ADJUSTMENT_KINDS: Mapping[str, str] = {
    WAITS_FOR_APPROVAL: "A change of a run waits for approval.",
    "adjustment_rolled_back": "An adjustment was taken back because it did harm.",
    "adjustment_failed": "The ranks of a run did not make a change alike.",
}
"""With their meanings. The last two are also alerts of Prometheus, with the same names and summaries."""


def is_notified(kind: str) -> bool:
    """Return True if receivers get conditions of this kind."""
    known = BY_NAME.get(kind)
    return known.notifies if known is not None else kind in ADJUSTMENT_KINDS


def meaning(kind: str) -> str:
    """Return the meaning of a kind. An unknown kind is returned as it is."""
    known = BY_NAME.get(kind)
    return known.meaning if known is not None else ADJUSTMENT_KINDS.get(kind, kind)
