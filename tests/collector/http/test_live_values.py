"""Every view shows the present values of a condition: conditions, overview, hosts and runs."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from flyball_collector.advice.advice import Advice, Effort, Gain, Safety
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.http.collector_parts import CollectorParts
from flyball_collector.http.diagnosis_testing import DISK, FULL, GPU, MEMORY, SLOW, claim_again, diagnosed
from flyball_collector.http.testing import SECOND_NS, WallClock, fetch, serving
from flyball_collector.http.tried_changes import advice_answers
from flyball_collector.timeline.entry import entry_of
from flyball_collector.timeline.live_entries import live_entry
from flyball_collector.timeline.testing import cleared, make_event

VIEWS: Mapping[str, Callable[[Any], list[dict[str, Any]]]] = {
    "conditions": lambda answer: answer["conditions"],
    "overview": lambda answer: answer["worst"],
    "hosts/a/diagnosis": lambda answer: answer["conditions"],
    "runs/r/diagnosis": lambda answer: answer["conditions"],
    "runs/r": lambda answer: answer["diagnosis"]["conditions"],
}


async def shown(parts: CollectorParts, condition: str) -> list[dict[str, Any]]:
    """Return a condition as each view shows it."""
    async with serving(parts) as url:
        answers = {view: (await fetch(f"{url}/api/v1/{view}")).json() for view in VIEWS}
    found = [[each for each in read(answers[view]) if each["condition"] == condition] for view, read in VIEWS.items()]
    assert [len(each) for each in found] == [1] * len(VIEWS)
    return [each for (each,) in found]


def later(parts: CollectorParts, seconds: int) -> None:
    """Let time pass, with nothing new from detectors."""
    assert isinstance(parts.clock, WallClock)
    parts.clock.now_ns += seconds * SECOND_NS


async def test_all_views_show_the_same_present_values() -> None:
    """Time left, interval, text, confidence and evidence are those of the newest claim, not of the event."""
    parts = diagnosed()
    later(parts, 20)
    claim_again(parts, MEMORY, left=(40.0, 30.0, 50.0), because="97 % used")
    views = await shown(parts, MEMORY.condition)
    for each in views:
        assert (each["seconds_left"], each["seconds_left_low"], each["seconds_left_high"]) == (40.0, 30.0, 50.0)
        assert (each["because"], each["confidence"], each["evidence"]) == ("97 % used", 0.9, {"used_ratio": 0.95})
        assert each["clears_in_seconds"] is None


async def test_after_memory_was_freed_all_views_show_that_the_forecast_is_held() -> None:
    """There is no time left to show, but the time after which the condition is cleared."""
    parts = diagnosed()
    claim_again(parts, MEMORY, present=False, because="40 % used")
    later(parts, 10)
    claim_again(parts, MEMORY, present=False, because="40 % used")
    for each in await shown(parts, MEMORY.condition):
        assert (each["because"], each["seconds_left"]) == ("held: 40 % used", None)
        assert each["clears_in_seconds"] == MEMORY.kind.clear_after_seconds - 10


async def test_a_forecast_without_new_readings_counts_down_in_all_views() -> None:
    """Ninety seconds left when it was raised are 32 after 58 seconds."""
    for each in await shown(diagnosed(), FULL.condition):
        assert each["seconds_left"] == 32.0


def test_only_the_same_condition_has_present_values() -> None:
    """An older condition of the same subject, a cleared one and an unknown kind stay as they were stored."""
    parts = diagnosed()
    conditions = parts.diagnosis.conditions
    older, over = entry_of(replace(MEMORY, condition="another")), entry_of(cleared(MEMORY))
    for entry in (older, over, entry_of(make_event("disk_full", "nobody"))):
        assert live_entry(conditions, entry) is entry
    assert live_entry(conditions, entry_of(MEMORY)).seconds_left == pytest.approx(300.0)


async def test_the_list_of_runs_and_the_diagnosis_have_the_same_conditions() -> None:
    """Those of a run are listed before those of its hosts, and the count is that of the list."""
    async with serving(diagnosed()) as url:
        (run,) = (await fetch(f"{url}/api/v1/runs")).json()["runs"]
        details = (await fetch(f"{url}/api/v1/runs/r")).json()
    listed = details["diagnosis"]["conditions"]
    assert run == details["run"]
    assert (run["conditions"], run["own_conditions"], run["severity"]) == (len(listed), 1, "critical")
    assert [each["kind"] for each in listed if each["run"] == "r"] == [SLOW.kind.name]
    assert {each["gpu"] for each in listed} == {GPU, None}


async def test_advice_of_a_condition_that_is_fading_is_marked() -> None:
    """It has the present confidence of its condition, so that the two do not contradict each other."""
    parts = diagnosed()
    advice = Advice(
        rule="batch_calls", subject=Subject("a"), because="88 % in calls", change="x", gain=Gain(1.1, 1.2),
        confidence=0.9, effort=Effort.SETTING, safety=Safety.SAFE, source="s", conditions=(DISK.condition,),
    )  # fmt: skip
    [before] = advice_answers(parts, [advice])
    assert (before.because, before.confidence) == ("88 % in calls", 0.9)
    claim_again(parts, DISK, present=False, confidence=0.2)
    [after] = advice_answers(parts, [advice])
    assert (after.because, after.confidence) == ("fading: 88 % in calls", 0.2)
