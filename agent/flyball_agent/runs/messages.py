"""Messages on the socket for training processes: one JSON object per line, in both directions."""

import re
from typing import Annotated

import msgspec
from msgspec import Meta

from flyball_agent.runs.adjustment_messages import (
    ADJUSTMENT_KINDS,
    AbleMessage,
    AbortedMessage,
    AdjustmentMessage,
    AppliedMessage,
    OomMessage,
    PreparedMessage,
    VetoMessage,
    checked_adjustment,
)
from flyball_agent.runs.environment import MAX_LABELS, clean
from flyball_agent.runs.json_constants import replace_constants
from flyball_agent.runs.json_values import BadValue

Name = Annotated[str, Meta(min_length=1, max_length=200)]
Text = Annotated[str, Meta(max_length=200)]
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Small = Annotated[int, Meta(ge=0, lt=2**31)]
Amount = Annotated[float, Meta(ge=0)]
LabelValue = str | int | float | bool | None

MAX_CALLS = 32
POLICIES = ("off", "ask", "auto")
"""Which adjustments a client accepts. Texts of newer clients are not known."""


class LevelSums(msgspec.Struct, frozen=True):
    """The progress of one level of a hierarchical learner since the previous report."""

    level: Name
    items: Amount | None
    seconds: Amount | None


class CallSums(msgspec.Struct, frozen=True):
    """The calls to one service since the previous report."""

    service: Name
    count: Small
    seconds: Amount | None = None
    errors: Small = 0


class Hello(msgspec.Struct, frozen=True, tag_field="kind", tag="hello"):
    """The first message on a connection: the run, and the rank of the process in it."""

    run: Name
    rank: Small = 0
    world_size: Annotated[int, Meta(ge=1, lt=2**31)] = 1
    total_steps: Count | None = None
    labels: Annotated[dict[str, LabelValue], Meta(max_length=MAX_LABELS)] = {}
    attempt: Small | None = None
    group: Text | None = None
    total_samples: Count | None = None
    policy: Text | None = None
    client: Text | None = None


class StepsMessage(msgspec.Struct, frozen=True, tag_field="kind", tag="steps"):
    """The steps finished since the previous report. Times and amounts are sums over them."""

    step: Count
    steps: Small
    step_seconds: Amount
    data_wait_seconds: Amount | None = None
    tokens: Amount | None = None
    samples: Amount | None = None
    loss: float | str | None = None
    allocated_peak_bytes: Count | None = None
    reserved_peak_bytes: Count | None = None
    section_seconds: Annotated[dict[str, float | None], Meta(max_length=32)] = {}
    levels: Annotated[list[LevelSums], Meta(max_length=64)] = []
    calls: Annotated[list[CallSums], Meta(max_length=MAX_CALLS)] = []
    device_seconds: Amount | None = None
    dropped: Count | None = None
    oom_retries: Count | None = None
    paused_seconds: Amount | None = None
    throttled_seconds: Amount | None = None


class CapturedMessage(msgspec.Struct, frozen=True, tag_field="kind", tag="captured"):
    """The progress of a capture that the agent has ordered, or the reason why it is not possible."""

    id: Annotated[str, Meta(max_length=64)]
    state: Annotated[str, Meta(max_length=60)]
    detail: Annotated[str, Meta(max_length=2000)] = ""


class Goodbye(msgspec.Struct, frozen=True, tag_field="kind", tag="goodbye"):
    """The process has finished with this run."""


class Envelope(msgspec.Struct, frozen=True):
    """Any message, with its kind only: used to recognise kinds of newer clients."""

    kind: Annotated[str, Meta(max_length=60)]


Message = Hello | StepsMessage | Goodbye | CapturedMessage | AdjustmentMessage
KINDS = ("hello", "steps", "goodbye", "captured", *ADJUSTMENT_KINDS)

_decoder: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message, strict=False)  # 1200.0 is a step as well
_envelope = msgspec.json.Decoder(Envelope)
_PLACE = re.compile(r"^(?P<fault>.*) - at `\$\.?(?P<key>.*)`$")
_MISSING = re.compile(r"^Object missing required field `(?P<key>[^`]*)`(?: - at `\$\.?(?P<within>.*)`)?$")

OK = b'{"kind":"ok"}\n'
_ADJUSTMENTS = (AbleMessage, PreparedMessage, VetoMessage, AppliedMessage, AbortedMessage, OomMessage)


class BadLine(Exception):
    """A line that is not a valid message. It names the key and what was expected."""


def decode(line: bytes) -> Message | Envelope:
    """Decode one line. The result is an `Envelope` if the kind is unknown to this agent."""
    try:
        return _checked(_decoder.decode(line))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        fault = error
    replaced = replace_constants(line)
    if replaced is not line:
        return decode(replaced)
    try:
        envelope = _envelope.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadLine(_of_line(error)) from None
    if envelope.kind in KINDS:
        raise BadLine(f"{envelope.kind}: {_of_key(fault)}")
    return envelope


def kind_of(message: Message) -> str:
    """Return the kind of a message."""
    return str(message.__struct_config__.tag)


def labels_of(hello: Hello) -> dict[str, str]:
    """Return the labels as printable text, numbers without a useless fraction, and without empty ones."""
    totals = {"total_steps": hello.total_steps, "total_samples": hello.total_samples}
    labels = {name: total for name, total in totals.items() if total is not None}
    texts = {clean(key.encode(), 60): _as_text(value) for key, value in (hello.labels | labels).items()}
    return {key: text for key, text in texts.items() if key and text}


def error_line(text: str) -> bytes:
    """Return an error answer."""
    return msgspec.json.encode({"kind": "error", "error": text}) + b"\n"


def adjustments_line(*, enabled: bool) -> bytes:
    """Return the line that informs a process whether it can be offered adjustments."""
    return msgspec.json.encode({"kind": "adjustments", "enabled": enabled}) + b"\n"


def ignored_line(kind: str) -> bytes:
    """Return the answer to an unknown kind."""
    return msgspec.json.encode({"kind": "ignored", "ignored": kind}) + b"\n"


def _checked(message: Message) -> Message:
    """Return a message whose run has one spelling, here and in the list of processes."""
    if isinstance(message, Hello):
        run = clean(message.run.encode())
        if not run:
            raise BadLine("hello: run: expected a name with printable characters")
        return message if run == message.run else msgspec.structs.replace(message, run=run)
    if isinstance(message, StepsMessage):
        if message.step_seconds == float("inf"):
            raise BadLine("steps: step_seconds: expected a finite number")
        return message
    if isinstance(message, _ADJUSTMENTS):
        try:
            return checked_adjustment(message)
        except BadValue as error:
            raise BadLine(f"{kind_of(message)}: {error}") from None
    return message


def _as_text(value: LabelValue) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return clean((str(value).lower() if isinstance(value, bool) else str(value)).encode())


def _of_key(error: Exception) -> str:
    """Return the fault with the key first: `rank: expected int >= 0`."""
    text = str(error)
    if missing := _MISSING.match(text):
        within = f"{missing['within']}." if missing["within"] else ""
        return f"{within}{missing['key']}: expected this field, it is missing"
    if not (place := _PLACE.match(text)):
        return text
    fault = place["fault"].replace("`", "")
    return f"{place['key']}: {fault[:1].lower()}{fault[1:]}"


def _of_line(error: Exception) -> str:
    if isinstance(error, msgspec.ValidationError):
        return f"expected an object with the text `kind`, such as {', '.join(KINDS)}: {_of_key(error)}"
    return f"expected one JSON object on each line: {error}"
