"""The bodies of requests about adjustments."""

from typing import Annotated, Literal

import msgspec

LONGEST_WHY = 500

RunName = Annotated[str, msgspec.Meta(min_length=1, max_length=1024)]
Why = Annotated[str, msgspec.Meta(max_length=LONGEST_WHY)]
Policy = Literal["off", "ask", "auto"]


class NewAdjustment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change of one value of a run that a person asks for."""

    run: RunName
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    to: bool | int | float | Annotated[str, msgspec.Meta(max_length=200)]
    why: Why = ""


class DecisionReason(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The reason for a decision, for other people."""

    why: Why = ""


class PolicyRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A policy for a run whose name is in the path."""

    policy: Policy
    why: Why = ""


class NamedPolicyRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A policy for a run with a name of any form."""

    run: RunName
    policy: Policy
    why: Why = ""
