"""Step reports for records, from the messages of training processes."""

import math
from collections.abc import Iterable
from typing import Literal

from flyball_agent.runs.messages import MAX_CALLS, Hello, StepsMessage
from flyball_proto.v1 import telemetry_pb2 as pb

_Sum = Literal["data_wait_seconds", "tokens", "samples", "device_seconds", "paused_seconds", "throttled_seconds"]

_LONGEST_NAME = 60
_MAX_COUNT = 2**32 - 1
_SUMS: tuple[_Sum, ...] = (
    "data_wait_seconds",
    "tokens",
    "samples",
    "device_seconds",
    "paused_seconds",
    "throttled_seconds",
)
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
        attempt=hello.attempt or 0,
        device_seconds=_known(steps.device_seconds),
        dropped=min(_MAX_COUNT, steps.dropped or 0),
        oom_retries=None if steps.oom_retries is None else min(_MAX_COUNT, steps.oom_retries),
        paused_seconds=_known(steps.paused_seconds),
        throttled_seconds=_known(steps.throttled_seconds),
    )
    for section, seconds in steps.section_seconds.items():
        if (known := _known(seconds)) is not None:
            report.section_seconds[section[:_LONGEST_NAME]] = known
    for level in steps.levels:
        items, seconds = _known(level.items), _known(level.seconds)
        if items is not None and seconds is not None:
            report.levels.add(level=level.level[:_LONGEST_NAME], items=items, seconds=seconds)
    if steps.calls:
        calls = [
            pb.CallReport(
                service=call.service[:_LONGEST_NAME],
                count=call.count,
                seconds=_known(call.seconds),
                errors=call.errors,
            )
            for call in steps.calls
        ]
        _merge_calls(report, calls)  # one name may occur twice
    return report


def merge(into: pb.StepReport, later: pb.StepReport) -> None:
    """Merge a later report of the same rank: add sums, keep the larger peaks and the last step."""
    into.step, into.world_size, into.attempt = later.step, later.world_size, later.attempt
    into.steps = min(_MAX_COUNT, into.steps + later.steps)
    into.dropped = min(_MAX_COUNT, into.dropped + later.dropped)
    into.step_seconds += later.step_seconds
    for name in _SUMS:
        if later.HasField(name):
            setattr(into, name, getattr(into, name) + getattr(later, name))
    if later.HasField("oom_retries"):
        into.oom_retries = min(_MAX_COUNT, into.oom_retries + later.oom_retries)
    if later.HasField("allocated_peak_bytes"):
        into.allocated_peak_bytes = max(into.allocated_peak_bytes, later.allocated_peak_bytes)
    if later.HasField("reserved_peak_bytes"):
        into.reserved_peak_bytes = max(into.reserved_peak_bytes, later.reserved_peak_bytes)
    if later.HasField("loss"):
        into.loss = later.loss
    for section, seconds in later.section_seconds.items():
        if section in into.section_seconds or len(into.section_seconds) < 32:
            into.section_seconds[section] += seconds
        else:
            _count_dropped(into)
    _merge_levels(into, later)
    _merge_calls(into, later.calls)


def _merge_levels(into: pb.StepReport, later: pb.StepReport) -> None:
    known = {level.level: level for level in into.levels}
    for level in later.levels:
        if level.level in known:
            known[level.level].items += level.items
            known[level.level].seconds += level.seconds
        elif len(into.levels) < 64:
            into.levels.add(level=level.level, items=level.items, seconds=level.seconds)
        else:
            _count_dropped(into)


def _merge_calls(into: pb.StepReport, later: Iterable[pb.CallReport]) -> None:
    known = {call.service: call for call in into.calls}
    for call in later:
        earlier = known.get(call.service)
        if earlier is not None:
            earlier.count += call.count
            earlier.errors += call.errors
            if call.HasField("seconds"):
                earlier.seconds += call.seconds
        elif len(into.calls) < MAX_CALLS:
            known[call.service] = into.calls.add()
            known[call.service].CopyFrom(call)
        else:
            _count_dropped(into)


def _count_dropped(into: pb.StepReport) -> None:
    """Count a name beyond the limit of a report."""
    into.dropped = min(_MAX_COUNT, into.dropped + 1)


def _known(amount: float | None) -> float | None:
    """Return an amount, or None if it is not finite: then it is unknown."""
    return amount if amount is not None and math.isfinite(amount) else None


def _loss(value: float | str | None) -> float | None:
    """Return a loss as a number. One that is not finite is kept, because it is a finding."""
    if not isinstance(value, str):
        return value
    return _NOT_FINITE.get(value.lower().removeprefix("+"))
