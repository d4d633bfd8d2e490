"""An offer of the collector, checked: nothing of it is passed to a process as it came."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from flyball_agent.runs.environment import clean
from flyball_agent.runs.json_values import BadValue, value_text
from flyball_proto.v1 import adjust_pb2 as adjust

MAX_EXPIRES_SECONDS = 600
MAX_RANKS = 1024
"""Of one host. It has at most 256 connections."""

_ID = re.compile(r"[0-9a-f]{16}")


class OfferRefused(Exception):
    """The offer is not valid. The message is the reason for the collector, in one word."""


@dataclass(frozen=True, slots=True)
class RankValues:
    """A value of all ranks, or one of each: ranks that ran out of memory may differ. JSON texts of one spelling."""

    common: str = ""
    by_rank: Mapping[int, str] = field(default_factory=dict)

    def of(self, rank: int) -> str:
        """Return the value of a rank; empty if the offer has none for it."""
        return self.by_rank.get(rank, "") if self.by_rank else self.common


@dataclass(frozen=True, slots=True)
class CheckedOffer:
    """A change of one value in one run."""

    id: str
    run: str
    attempt: int
    name: str
    value_from: RankValues
    value_to: RankValues
    at_step: int
    expires_seconds: int
    safety: int
    because: str

    def line(self, rank: int) -> bytes:
        """Return the line for the socket of a rank."""
        message = {
            "kind": "offer",
            "id": self.id,
            "name": self.name,
            "from": msgspec.Raw(self.value_from.of(rank).encode()),
            "to": msgspec.Raw(self.value_to.of(rank).encode()),
            "at": self.at_step,
            "attempt": self.attempt,
            "expires_seconds": self.expires_seconds,
            "safety": self.safety,
            "because": self.because,
        }
        return msgspec.json.encode(message) + b"\n"


def is_valid_id(text: str) -> bool:
    """Return True for an id as collectors make them."""
    return _ID.fullmatch(text) is not None


def checked_offer(offer: adjust.Offer) -> CheckedOffer:
    """Return a valid offer. Raise `OfferRefused`."""
    if not is_valid_id(offer.id):
        raise OfferRefused("invalid_id")
    if not 1 <= offer.safety <= 4 or offer.at_step > 2**63 - 1:
        raise OfferRefused("invalid_offer")
    try:
        value_from, value_to = _rank_values(_from_of(offer)), _rank_values(offer.to)
    except BadValue:
        raise OfferRefused("not_a_choice") from None
    return CheckedOffer(
        offer.id,
        offer.run,
        offer.attempt,
        offer.name,
        value_from,
        value_to,
        offer.at_step,
        min(max(1, offer.expires_seconds), MAX_EXPIRES_SECONDS),
        offer.safety,
        clean(offer.because.encode()),
    )


def _rank_values(text: str) -> RankValues:
    """Return the value of a text, or the values of an object with one for each rank. Raise `BadValue`."""
    if not text.startswith("{"):
        return RankValues(value_text(text.encode()))
    try:
        found = msgspec.json.decode(text, type=dict[int, msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise BadValue("expected an object with a value for each rank") from None
    if not 0 < len(found) <= MAX_RANKS:
        raise BadValue(f"expected the values of 1 to {MAX_RANKS} ranks")
    return RankValues(by_rank={rank: value_text(bytes(raw)) for rank, raw in found.items()})


def _from_of(offer: adjust.Offer) -> str:
    return str(getattr(offer, "from"))  # `from` is a Python keyword
