"""Texts of advice with any of the facts missing, and advice on loading data where nothing trains."""

import re
from dataclasses import fields, replace
from typing import Any

import pytest

from flyball_collector.advice.advice import Advice
from flyball_collector.advice.advisor import Advisor
from flyball_collector.advice.rules.catalogue import BY_NAME
from flyball_collector.advice.settings import AdviceSettings
from flyball_collector.advice.situation import Situation
from flyball_collector.diagnosis.active_conditions import ActiveCondition
from flyball_collector.engine.testing.hosts import SimulatedFleet
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.collector.advice.test_rules import FIRES, SETTINGS, event

PLACEHOLDER = re.compile(r"\b(nan|None|unknown|inf)\b")
FACTS = [field.name for field in fields(Situation) if "None" in str(field.type)]


def texts(advice: Advice) -> str:
    return f"{advice.because} | {advice.change} | {advice.caution}"


def variants(found: Situation) -> list[Situation]:
    """Return the situation without each one of its known facts, and without the numbers of its conditions."""
    known: list[dict[str, Any]] = [{name: None} for name in FACTS if getattr(found, name) is not None]
    nothing: dict[str, Any] = dict.fromkeys(FACTS)
    bare = {kind: tuple(replace(each, evidence={}) for each in events) for kind, events in found.active.items()}
    return [found, *(replace(found, **each) for each in known), replace(found, active=bare), replace(found, **nothing)]


@pytest.mark.parametrize("name", list(BY_NAME))
def test_advice_has_no_placeholder_for_a_missing_fact(name: str) -> None:
    """A sentence whose number is not known is worded without it, and there is always a reason."""
    for found in variants(FIRES[name]):
        advice = BY_NAME[name].advise(found, SETTINGS)
        if advice is not None:
            assert not PLACEHOLDER.search(texts(advice)), texts(advice)
            assert advice.because


def test_advice_has_no_time_left_in_its_text() -> None:
    """It would be wrong a second later: the time left is shown with the condition."""
    for name in ("checkpoint_now", "shrink_micro_batch", "improve_cooling", "free_disk"):
        found = FIRES[name]
        timed = {
            kind: tuple(replace(each, seconds_left=90.0) for each in each_kind)
            for kind, each_kind in found.active.items()
        }
        advice = BY_NAME[name].advise(replace(found, active=timed), SETTINGS)
        assert advice is not None
        assert not re.search(r"\b(90 s|1 min|soon)\b", texts(advice)), texts(advice)


LOADING = ("faster_storage", "cheaper_preprocessing")


def advised(*, gpu: bool = False, run: bool = False, process: bool = False) -> set[str]:
    """Return the advice on loading data for a host with a busy CPU and a slow disk, and what trains there."""
    fleet = SimulatedFleet()
    fleet.set("cpu_busy_ratio", 0.95)
    if gpu:
        fleet.set("gpu_utilization_ratio", 0.5, gpu="GPU-0")
    if process:
        fleet.set("training_processes", 1)
    if run:
        fleet.report(pb.StepReport(run="r", rank=0, steps=1, step=1, step_seconds=1.0, data_wait_seconds=0.5))
    fleet.step(3)
    advisor = Advisor(AdviceSettings())
    active = [ActiveCondition(event(kind)) for kind in ("bottleneck_disk", "bottleneck_cpu")]
    return {advice.rule for advice in advisor.consider(fleet.view, active)} & set(LOADING)


@pytest.mark.parametrize(("trains", "expected"), [
    ({}, set()), ({"run": True}, set(LOADING)), ({"process": True}, set(LOADING)),
])  # fmt: skip
def test_loading_data_is_advised_only_where_something_trains(trains: dict[str, bool], expected: set[str]) -> None:
    """A database server with a busy disk loads no data for a training; a run or a training process does."""
    assert advised(**trains) == expected


def test_a_busy_gpu_trains() -> None:
    """Its host trains, although nothing reports steps."""
    fleet = SimulatedFleet()
    for gpu, busy in (("GPU-0", 0.5), ("GPU-1", 0.0)):
        fleet.set("gpu_utilization_ratio", busy, host=f"host-{gpu}", gpu=gpu)
    fleet.step(3)
    advisor = Advisor(AdviceSettings())
    advisor.facts(fleet.view)
    found = advisor.facts(fleet.view).situations([], fleet.view.hosts.names)
    assert {each.subject.host: each.trains for each in found} == {"host-GPU-0": True, "host-GPU-1": False}
