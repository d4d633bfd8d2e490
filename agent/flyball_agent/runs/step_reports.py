"""Step reports for records, from the messages of training processes."""

import math

from flyball_agent.runs.messages import Hello, StepsMessage
from flyball_proto.v1 import telemetry_pb2 as pb

_LONGEST_NAME = 60
_NOT_FINITE = {
    "nan": math.nan,
    "inf": math.inf,
    "infinity": math.inf,
    "-inf": -math.inf,
    "-infinity": -math.inf,
}


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
        data_wait_seconds=_known(steps.data_wait_seconds),
        tokens=_known(steps.tokens),
        samples=_known(steps.samples),
        loss=_loss(steps.loss),
        allocated_peak_bytes=steps.allocated_peak_bytes,
        reserved_peak_bytes=steps.reserved_peak_bytes,
    )
    for section, seconds in steps.section_seconds.items():
        if (known := _known(seconds)) is not None:
            report.section_seconds[section[:_LONGEST_NAME]] = known
    for level in steps.levels:
        items, seconds = _known(level.items), _known(level.seconds)
        if items is not None and seconds is not None:
            report.levels.add(level=level.level[:_LONGEST_NAME], items=items, seconds=seconds)
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


def _known(amount: float | None) -> float | None:
    """Return an amount, or None if it is not finite: then it is unknown."""
    return amount if amount is not None and math.isfinite(amount) else None


def _loss(value: float | str | None) -> float | None:
    """Return a loss as a number. One that is not finite is kept, because it is a finding."""
    if not isinstance(value, str):
        return value
    return _NOT_FINITE.get(value.lower().removeprefix("+"))
