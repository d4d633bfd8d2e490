"""The review of a host as a JSON document. docs/how-to/analyze-a-host.md describes its keys."""

from typing import Any

from msgspec import to_builtins

from flyball.host.profile_file import profile_document
from flyball.host_review.host_finding import FindingKind
from flyball.host_review.host_review import HostReview
from flyball.host_review.peer_hosts import PEERS

SCHEMA = 1
"""Rises when a key is removed or changes its meaning; new keys do not raise it."""


def review_document(review: HostReview) -> dict[str, Any]:
    """Return the document; unknown values are null."""
    return {
        "schema": SCHEMA,
        "score": {**to_builtins(review.score), "peers": to_builtins(PEERS)},
        "recommended": review.recommended or None,
        "next_steps": list(review.next_steps),
        "warnings": [to_builtins(each) for each in review.of_kind(FindingKind.WARNING)],
        "suggestions": [to_builtins(each) for each in review.of_kind(FindingKind.SUGGESTION)],
        "power": to_builtins(review.power),
        "cooling": to_builtins(review.cooling),
        "configurations": [to_builtins(each) for each in review.proposal.configurations],
        "no_configurations": review.proposal.because or None,
        "bottlenecks": [to_builtins(each) for each in review.bottlenecks],
        "profile": profile_document(review.profile),
    }
