"""Rewrites the step reports of a recording as another way of reporting would have made them.

A recording holds the readings of the host and the reports of the loop. What the diagnosis loses with fewer reports can
be scored on the same episodes, without the noise of another run.
"""

from typing import Literal

from flyball_proto.v1 import telemetry_pb2 as pb
from tests.benchmarks.labelled.plan import Reports

HOOKED = {"forward": "forward_backward", "backward": "forward_backward", "service": "call 127.0.0.1:80"}
"""The section in which `flyball run` counts each section of the loop."""

CALLED = {"service": "call service"}
"""The same for the client in the code of the loop."""

AsReported = Literal[Reports, "steps", "recorded"]
"""`steps`: the loop reports the time of its steps and nothing else, with one line of code."""


def as_reported(extras: bytes, reports: AsReported) -> bytes:
    """Return the extras of a record with the step reports of another way of reporting."""
    if not extras or reports == "recorded":
        return extras
    record = pb.Record.FromString(extras)
    if reports == "none":
        del record.steps[:]
    for steps in record.steps:
        _rename(steps, HOOKED if reports == "hooks" else CALLED)
        if reports in {"hooks", "steps"}:
            steps.ClearField("loss")
        if reports == "steps":
            _forget_sections(steps)
    return record.SerializeToString()


def _forget_sections(steps: pb.StepReport) -> None:
    """Keep what `run.step()` alone reports."""
    steps.section_seconds.clear()
    steps.ClearField("data_wait_seconds")
    del steps.calls[:]
    del steps.levels[:]


def _rename(steps: pb.StepReport, names: dict[str, str]) -> None:
    seconds = dict(steps.section_seconds)
    seconds.pop("data", None)  # waiting for data is a field of its own
    steps.section_seconds.clear()
    for name, taken in seconds.items():
        steps.section_seconds[names.get(name, name)] += taken
