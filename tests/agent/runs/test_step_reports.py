"""Step reports for records: calls, attempts and what was dropped, also of several reports between two ticks."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.runs.messages import MAX_CALLS, CallSums, Hello, LevelSums, StepsMessage
from flyball_agent.runs.step_reports import merge, step_report
from flyball_proto.v1 import telemetry_pb2 as pb


def report(attempt: int = 0, **fields: object) -> pb.StepReport:
    steps = StepsMessage(**{"step": 1, "steps": 1, "step_seconds": 0.5, **fields})  # type: ignore[arg-type]  # free fields
    return step_report(Hello("r", attempt=attempt), steps, pid=1, uid=1)


def calls_of(found: pb.StepReport) -> dict[str, tuple[int, float | None, int]]:
    return {
        call.service: (call.count, call.seconds if call.HasField("seconds") else None, call.errors)
        for call in found.calls
    }


def test_a_report_without_the_new_fields_is_as_before() -> None:
    """Nothing is added to the record of a client that does not report them."""
    assert report() == pb.StepReport(run="r", world_size=1, pid=1, uid=1, step=1, steps=1, step_seconds=0.5)


def test_names_that_are_equal_when_cut_are_one_service() -> None:
    """Their calls are added."""
    found = report(calls=[CallSums("x" * 60 + "a", 1, 0.5, 1), CallSums("x" * 60 + "b", 2, None, 0)])
    assert calls_of(found) == {"x" * 60: (3, 0.5, 1)}


def test_an_infinite_time_is_unknown() -> None:
    """The calls count, and their time and that of the device is unknown."""
    found = report(calls=[CallSums("kato", 1, math.inf)], device_seconds=math.inf)
    assert calls_of(found) == {"kato": (1, None, 0)}
    assert not found.HasField("device_seconds")


_CALLS = st.lists(
    st.builds(CallSums, st.sampled_from(["a", "b", "c"]), st.integers(0, 100), st.floats(0, 1e6), st.integers(0, 9)),
    max_size=6,
)


@given(st.lists(_CALLS, min_size=1, max_size=5))
def test_merging_conserves_the_calls(parts: list[list[CallSums]]) -> None:
    """Count, time and errors of each service are those of all reports of the tick."""
    merged = report(calls=parts[0])
    for part in parts[1:]:
        merge(merged, report(calls=part))
    every = [call for part in parts for call in part]
    assert {call.service for call in merged.calls} == {call.service for call in every}
    for found in merged.calls:
        same = [call for call in every if call.service == found.service]
        assert found.count == sum(call.count for call in same)
        assert found.errors == sum(call.errors for call in same)
        assert found.seconds == pytest.approx(sum(call.seconds or 0.0 for call in same))


def test_the_newest_attempt_counts() -> None:
    """A run that begins a new attempt between two ticks goes back to an earlier step."""
    merged = report(step=100, device_seconds=0.25)
    merge(merged, report(attempt=1, step=80, device_seconds=0.5))
    assert (merged.attempt, merged.step, merged.steps, merged.device_seconds) == (1, 80, 2, 0.75)


def test_what_adjustments_cost_is_summed() -> None:
    """Retries, pauses and throttling add up; a client that reports none of them leaves them unknown."""
    merged = report(oom_retries=1, paused_seconds=0.0, throttled_seconds=math.inf)
    merge(merged, report())
    merge(merged, report(oom_retries=2, paused_seconds=1.5))
    assert (merged.oom_retries, merged.paused_seconds) == (3, 1.5)
    assert not merged.HasField("throttled_seconds")
    merge(merged, report(oom_retries=2**63 - 1, throttled_seconds=0.25))
    assert (merged.oom_retries, merged.throttled_seconds) == (2**32 - 1, 0.25)


def test_names_beyond_the_limits_are_counted() -> None:
    """A record has a limited number of sections, levels and services of a rank; `dropped` counts the others."""
    merged = report(dropped=2)
    for first in (0, 30, 60):
        numbers = range(first, first + 30)
        later = report(
            dropped=1,
            calls=[CallSums(f"service {n}", 1) for n in numbers],
            section_seconds={f"section {n}": 0.1 for n in numbers},
            levels=[LevelSums(f"level {n}", 1.0, 1.0) for n in numbers],
        )
        merge(merged, later)
    assert (len(merged.calls), len(merged.section_seconds), len(merged.levels)) == (MAX_CALLS, 32, 64)
    assert merged.dropped == 2 + 3 + (90 - 32) + (90 - 32) + (90 - 64)


def test_the_number_of_dropped_names_is_limited() -> None:
    """A client cannot overflow it."""
    merged = report(dropped=2**62)
    merge(merged, report(dropped=2**62))
    assert merged.dropped == 2**32 - 1
