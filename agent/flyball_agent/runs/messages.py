"""Messages on the socket for training processes: one JSON object per line, in both directions."""

import math
from typing import Annotated

import msgspec
from msgspec import Meta

from flyball_proto.v1 import telemetry_pb2 as pb

Name = Annotated[str, Meta(min_length=1, max_length=200)]
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Small = Annotated[int, Meta(ge=0, lt=2**31)]
Amount = Annotated[float, Meta(ge=0)]


class Level(msgspec.Struct, frozen=True):
    """The progress of one level of a hierarchical learner since the previous report."""

    level: Name
    items: Amount
    seconds: Amount


class Hello(msgspec.Struct, frozen=True, tag_field="kind", tag="hello"):
    """The first message on a connection: the run, and the rank of the process in it."""

    run: Name
    rank: Small = 0
    world_size: Annotated[int, Meta(ge=1, lt=2**31)] = 1
    labels: Annotated[dict[str, str], Meta(max_length=16)] = {}


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
    section_seconds: Annotated[dict[str, float], Meta(max_length=32)] = {}
    levels: Annotated[list[Level], Meta(max_length=64)] = []


class Goodbye(msgspec.Struct, frozen=True, tag_field="kind", tag="goodbye"):
    """The process has finished with this run."""


class Envelope(msgspec.Struct, frozen=True):
    """Any message, with its kind only: used to recognise kinds of newer clients."""

    kind: Annotated[str, Meta(max_length=60)]


Message = Hello | StepsMessage | Goodbye
KINDS = ("hello", "steps", "goodbye")

_decoder: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)
_envelope = msgspec.json.Decoder(Envelope)

OK = b'{"kind":"ok"}\n'


class BadLine(Exception):
    """A line that is not a valid message. `fatal` means that the peer does not use this protocol."""

    def __init__(self, text: str, *, fatal: bool) -> None:
        super().__init__(text)
        self.fatal = fatal


def decode(line: bytes) -> Message | Envelope:
    """Decode one line. The result is an `Envelope` if the kind is unknown to this agent."""
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        fault = str(error)
    try:
        envelope = _envelope.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BadLine(f"not a valid message: {fault}", fatal=True) from None
    if envelope.kind in KINDS:
        raise BadLine(f"{envelope.kind}: {fault}", fatal=False)
    return envelope


def error_line(text: str) -> bytes:
    """Return an error answer."""
    return msgspec.json.encode({"kind": "error", "error": text}) + b"\n"


def ignored_line(kind: str) -> bytes:
    """Return the answer to an unknown kind."""
    return msgspec.json.encode({"kind": "ignored", "ignored": kind}) + b"\n"


def step_report(hello: Hello, steps: StepsMessage, *, pid: int, uid: int) -> pb.StepReport:
    """Return the report for the record. The process id and user id come from the kernel."""
    report = pb.StepReport(
        run=hello.run,
        rank=hello.rank,
        world_size=hello.world_size,
        pid=pid,
        uid=uid,
        step=steps.step,
        steps=steps.steps,
        step_seconds=steps.step_seconds,
        data_wait_seconds=steps.data_wait_seconds,
        tokens=steps.tokens,
        samples=steps.samples,
        loss=_number(steps.loss),
        allocated_peak_bytes=steps.allocated_peak_bytes,
        reserved_peak_bytes=steps.reserved_peak_bytes,
    )
    for section, seconds in steps.section_seconds.items():
        report.section_seconds[section[:60]] = seconds
    for level in steps.levels:
        report.levels.add(level=level.level[:60], items=level.items, seconds=level.seconds)
    return report


def merge(into: pb.StepReport, later: pb.StepReport) -> None:
    """Merge a later report of the same rank: add sums, keep the larger peaks and the last step."""
    into.step, into.world_size = later.step, later.world_size
    into.steps = min(2**32 - 1, into.steps + later.steps)
    into.step_seconds += later.step_seconds
    if later.HasField("data_wait_seconds"):
        into.data_wait_seconds += later.data_wait_seconds
    if later.HasField("tokens"):
        into.tokens += later.tokens
    if later.HasField("samples"):
        into.samples += later.samples
    if later.HasField("allocated_peak_bytes"):
        into.allocated_peak_bytes = max(into.allocated_peak_bytes, later.allocated_peak_bytes)
    if later.HasField("reserved_peak_bytes"):
        into.reserved_peak_bytes = max(into.reserved_peak_bytes, later.reserved_peak_bytes)
    if later.HasField("loss"):
        into.loss = later.loss
    for section, seconds in later.section_seconds.items():
        if section in into.section_seconds or len(into.section_seconds) < 32:
            into.section_seconds[section] += seconds
    _merge_levels(into, later)


def _merge_levels(into: pb.StepReport, later: pb.StepReport) -> None:
    known = {level.level: level for level in into.levels}
    for level in later.levels:
        if level.level in known:
            known[level.level].items += level.items
            known[level.level].seconds += level.seconds
        elif len(into.levels) < 64:
            into.levels.add(level=level.level, items=level.items, seconds=level.seconds)


def _number(value: float | str | None) -> float | None:
    """Return a loss as a number. JSON has no infinity and no not-a-number, so these arrive as text."""
    if isinstance(value, str):
        names = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
        return names.get(value.lower())
    return value
