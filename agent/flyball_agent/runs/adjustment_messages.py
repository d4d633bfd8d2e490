"""Messages of a process about adjustments: what it can change, its answers to offers, and how it ran out of memory."""

from typing import Annotated

import msgspec
from msgspec import Meta

from flyball_agent.runs.environment import clean
from flyball_agent.runs.json_values import BadValue, value_text

MAX_VALUES = 64
MAX_CHOICES = 64
MAX_FACTS = 16
MAX_REASON = 500
_CHARACTERS = 200

_Name = Annotated[str, Meta(min_length=1, max_length=_CHARACTERS)]
_Text = Annotated[str, Meta(max_length=_CHARACTERS)]
_Word = Annotated[str, Meta(max_length=40)]
_Id = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}\Z")]
_Reason = Annotated[str, Meta(max_length=MAX_REASON)]
_Step = Annotated[int, Meta(ge=0, le=2**63 - 1)]
_Seconds = Annotated[float, Meta(ge=0, le=1e9)]


_ABSENT = msgspec.Raw(b"null")


class AbleValue(msgspec.Struct, frozen=True):
    """A value that the process can change."""

    name: _Name
    value: msgspec.Raw
    choices: Annotated[list[msgspec.Raw], Meta(max_length=MAX_CHOICES)] = []
    safety: Annotated[int, Meta(ge=1, le=4)] = 1
    when: Annotated[str, Meta(pattern="^(step|epoch|restart)$")] = "step"
    lever: _Word = ""
    facts: Annotated[dict[_Word, _Text], Meta(max_length=MAX_FACTS)] = {}
    blocked: _Text = ""


class AbleMessage(msgspec.Struct, frozen=True, tag_field="kind", tag="able"):
    """All values that the process can change now."""

    values: Annotated[list[AbleValue], Meta(max_length=MAX_VALUES)]
    attempt: Annotated[int, Meta(ge=0, lt=2**31)] | None = None
    group: _Text = ""
    policy: _Word = ""
    register: _Word = "none"
    step: _Step = 0
    step_seconds: _Seconds | None = None


class PreparedMessage(msgspec.Struct, frozen=True, tag_field="kind", tag="prepared"):
    """The rank can make the change at its step."""

    id: _Id
    step: _Step = 0


class VetoMessage(msgspec.Struct, frozen=True, tag_field="kind", tag="veto"):
    """The rank refuses an offer."""

    id: _Id
    step: _Step = 0
    reason: _Reason = ""


class AppliedMessage(msgspec.Struct, frozen=True, tag_field="kind", tag="applied"):
    """The rank has made the change."""

    id: _Id
    observed: msgspec.Raw
    step: _Step = 0
    reason: _Reason = ""  # why it is still the old value


class AbortedMessage(msgspec.Struct, frozen=True, tag_field="kind", tag="aborted"):
    """The rank did not make the change."""

    id: _Id
    step: _Step = 0
    reason: _Reason = ""


class OomMessage(msgspec.Struct, frozen=True, tag_field="kind", tag="oom"):
    """The rank ran out of memory, and what it did about it."""

    step: _Step
    where: _Word = ""
    name: _Text = ""
    from_: msgspec.Raw = msgspec.field(name="from", default=_ABSENT)
    to: msgspec.Raw = _ABSENT
    recovered: bool = False
    retry_seconds: _Seconds = 0.0


AdjustmentAnswer = PreparedMessage | VetoMessage | AppliedMessage | AbortedMessage
AdjustmentMessage = AbleMessage | AdjustmentAnswer | OomMessage
ADJUSTMENT_KINDS = ("able", "prepared", "veto", "applied", "aborted", "oom")


def checked_adjustment(message: AdjustmentMessage) -> AdjustmentMessage:
    """Return the message with its values in one spelling and printable texts. Raise `BadValue` that names the key."""
    match message:
        case AbleMessage():
            return _checked_able(message)
        case AppliedMessage():
            observed, reason = _raw(message.observed, "observed"), clean(message.reason.encode(), MAX_REASON)
            return msgspec.structs.replace(message, observed=observed, reason=reason)
        case OomMessage():
            changed = {
                "from_": _raw(message.from_, "from", optional=True),
                "to": _raw(message.to, "to", optional=True),
                "name": clean(message.name.encode()),
                "where": clean(message.where.encode()),
            }
            return msgspec.structs.replace(message, **changed)
        case VetoMessage() | AbortedMessage():
            return msgspec.structs.replace(message, reason=clean(message.reason.encode(), MAX_REASON))
    return message


def text_of(raw: msgspec.Raw) -> str:
    """Return the JSON text of a checked value; empty without one."""
    text = bytes(raw).decode()
    return "" if text == "null" else text


def _checked_able(message: AbleMessage) -> AbleMessage:
    names = [value.name for value in message.values]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BadValue(f"values: the name {twice[:60]!r} occurs twice")
    values = [_checked_value(value, f"values[{place}]") for place, value in enumerate(message.values)]
    return msgspec.structs.replace(message, values=values, group=clean(message.group.encode()))


def _checked_value(value: AbleValue, place: str) -> AbleValue:
    if clean(value.name.encode()) != value.name:
        raise BadValue(f"{place}.name: expected printable characters")
    return msgspec.structs.replace(
        value,
        value=_raw(value.value, f"{place}.value"),
        choices=[_raw(choice, f"{place}.choices") for choice in value.choices],
        lever=clean(value.lever.encode()),
        facts={clean(key.encode()): clean(text.encode()) for key, text in value.facts.items()},
        blocked=clean(value.blocked.encode()),
    )


def _raw(raw: msgspec.Raw, key: str, *, optional: bool = False) -> msgspec.Raw:
    if optional and bytes(raw) == b"null":
        return raw
    try:
        return msgspec.Raw(value_text(bytes(raw)).encode())
    except BadValue as error:
        raise BadValue(f"{key}: {error}") from None
