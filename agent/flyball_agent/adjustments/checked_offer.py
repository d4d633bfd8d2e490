"""An offer of the collector, checked: nothing of it is passed to a process as it came."""

import re
from dataclasses import dataclass

import msgspec

from flyball_agent.runs.environment import clean
from flyball_agent.runs.json_values import BadValue, value_text
from flyball_proto.v1 import adjust_pb2 as adjust

MAX_EXPIRES_SECONDS = 600
_ID = re.compile(r"[0-9a-f]{16}")


class OfferRefused(Exception):
    """The offer is not valid. The message is the reason for the collector, in one word."""


@dataclass(frozen=True, slots=True)
class CheckedOffer:
    """A change of one value in one run."""

    id: str
    run: str
    attempt: int
    name: str
    value_from: str  # JSON texts of one spelling
    value_to: str
    at_step: int
    expires_seconds: int
    safety: int
    because: str

    def line(self) -> bytes:
        """Return the line for the socket."""
        message = {
            "kind": "offer",
            "id": self.id,
            "name": self.name,
            "from": msgspec.Raw(self.value_from.encode()),
            "to": msgspec.Raw(self.value_to.encode()),
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
        value_from, value_to = value_text(_from_of(offer).encode()), value_text(offer.to.encode())
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


def _from_of(offer: adjust.Offer) -> str:
    return str(getattr(offer, "from"))  # `from` is a Python keyword
