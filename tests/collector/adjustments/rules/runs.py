"""Runs, conditions and earlier adjustments from which the tests of rules are made."""

from collections.abc import Sequence
from typing import Any

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState, MeasuredEffect, Value
from flyball_collector.adjustments.declared.ranks import AbleRank, RankValue, RunValues
from flyball_collector.adjustments.rules.catalogue import RULES
from flyball_collector.adjustments.rules.rule import RuleChange
from flyball_collector.adjustments.rules.run_case import RunCase, run_case
from flyball_collector.adjustments.situation.run_situation import RunSituation
from flyball_collector.advice.situation import Situation
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.kinds import BY_NAME, Scope, Severity
from flyball_collector.diagnosis.subject import Subject

GIB = 1024.0**3
SECOND = 10**9
NOW = 1_900_000_000 * SECOND

BY_RULE = {rule.name: rule for rule in RULES}

VALUES: dict[str, tuple[Value, tuple[Value, ...], int, dict[str, str]]] = {
    "micro_batch": (16, (1, 2, 4, 8, 16, 32, 64), 2, {"per_rank": "64", "normalised": "tokens"}),
    "explicit_reduction": (False, (False, True), 1, {}),
    "activation_checkpointing": (False, (False, True), 2, {}),
    "loader_workers": (2, (0, 1, 2, 4, 8, 16), 1, {}),
    "loader_prefetch": (2, (1, 2, 4, 8), 1, {}),
    "calls_per_batch": (1, (1, 10, 50, 100), 1, {}),
    "workers": (1, (1, 2, 4, 8), 1, {}),
    "pool": (4, (4, 8, 16), 1, {}),
    "checkpoint_steps": (100, (10, 20, 30, 50, 70, 100, 200, 300, 500, 700, 1000, 2000, 3000, 5000), 1, {}),
    "checkpoint_now": (False, (False, True), 1, {}),
    "throttle": (0, (0, 0.1, 0.2, 0.3, 0.5, 0.7), 1, {}),
    "pause": (False, (False, True), 1, {"longest_seconds": "120"}),
    "precision": ("fp32", ("fp32", "fp16", "bf16"), 3, {}),
    "device": ("cuda", ("cuda", "cpu"), 4, {}),
}
"""A usual value of each lever: now, choices, class, facts."""

RESTART = ("precision", "device")


def value(lever: str, now: Value | None = None, /, **changes: Any) -> RankValue:
    """Return the usual value of a lever, with some changes."""
    usual, choices, safety, facts = VALUES[lever]
    given: dict[str, Any] = {
        "name": lever,
        "value": usual if now is None else now,
        "choices": choices,
        "safety": safety,
        "when": "restart" if lever in RESTART else "step",
        "lever": lever,
        "facts": facts,
    }
    return RankValue(**(given | changes))


def ranks(*of_rank: Sequence[RankValue], hosts: Sequence[str] = (), step_seconds: float | None = 0.5) -> RunValues:
    """Return a run with these values of each rank, on host `a` unless `hosts` names others."""
    return RunValues(
        "r",
        tuple(
            AbleRank(
                host=hosts[number] if hosts else "a",
                run="r",
                attempt=0,
                rank=number,
                world_size=len(of_rank),
                pid=number + 1,
                register="c10d",
                step=100,
                step_seconds=step_seconds,
                values={each.name: each for each in values},
            )
            for number, values in enumerate(of_rank)
        ),
    )


def event(
    kind: str, *, gpu: str = "GPU-0", raised_ns: int = NOW, severity: Severity | None = None, **rest: Any
) -> Event:
    """Return an active condition of host a, its GPU, or the run."""
    scope = BY_NAME[kind].scope
    subject = {
        Scope.HOST: Subject("a"),
        Scope.GPU: Subject("a", gpu),
        Scope.RESOURCE: Subject("a", gpu, resource="" if gpu else "host"),
        Scope.RUN: Subject(run="r"),
        Scope.RANK: Subject("a", run="r", rank=0),
    }[scope]
    given: dict[str, Any] = {
        "condition": f"{kind}-{raised_ns}",
        "time_ns": raised_ns,
        "state": State.RAISED,
        "kind": BY_NAME[kind],
        "subject": subject,
        "severity": BY_NAME[kind].severity if severity is None else severity,
        "confidence": 0.8,
        "because": f"text of {kind}",
        "raised_ns": raised_ns,
    }
    return Event(**(given | rest))


def host(name: str = "a", **facts: Any) -> Situation:
    """Return a host with room for everything."""
    roomy: dict[str, Any] = {
        "subject": Subject(name),
        "run": "r",
        "gpus": 1,
        "cores": 64.0,
        "cpu_busy_share": 0.2,
        "memory_available_bytes": 500 * GIB,
        "memory_total_bytes": 1000 * GIB,
    }
    return Situation(**(roomy | facts))


def situation(*events: Event, **facts: Any) -> RunSituation:
    """Return a run on one GPU of 80 GiB that uses half of it and is cool, unless the facts differ."""
    active: dict[str, tuple[Event, ...]] = {}
    for one in events:
        active[one.kind.name] = (*active.get(one.kind.name, ()), one)
    usual: dict[str, Any] = {
        "run": "r",
        "now_ns": NOW,
        "hosts": (host(),),
        "world_size": 1,
        "step_seconds": 0.5,
        "hours": 2.0,
        "gpus": 1,
        "gpu_busy_share": 0.95,
        "peak_bytes": 40 * GIB,
        "memory_total_bytes": 80 * GIB,
        "temperature_celsius": 60.0,
        "temperature_margin_celsius": 30.0,
        "slowed_by_heat": False,
    }
    return RunSituation(active=active, **(usual | facts))


def adjustment(lever: str, value_from: Value, value_to: Value, *, ago: float = 3600.0, **rest: Any) -> Adjustment:
    """Return an earlier adjustment that was kept, unless `state` is given."""
    given: dict[str, Any] = {
        "id": f"{lever}{value_from}{value_to}{ago}",
        "run": "r",
        "attempt": 0,
        "name": lever,
        "lever": lever,
        "value_from": value_from,
        "value_to": value_to,
        "safety": 1,
        "state": AdjustmentState.KEPT,
        "changed_ns": NOW - int(ago * SECOND),
    }
    return Adjustment(**(given | rest))


def effect(gain: float, peaks: tuple[int, int] | None = None) -> MeasuredEffect:
    """Return a measured effect."""
    return MeasuredEffect(
        gain=gain,
        gain_low=gain - 0.01,
        gain_high=gain + 0.01,
        step_seconds_before=1.0,
        step_seconds_after=1.0 / gain,
        peak_bytes_before=None if peaks is None else peaks[0],
        peak_bytes_after=None if peaks is None else peaks[1],
    )


def case(run: RunValues, found: RunSituation | None = None, history: Sequence[Adjustment] = ()) -> RunCase:
    """Return the case of a run."""
    return run_case(found or situation(), run, history)


def find(
    rule: str,
    values: RunValues | Sequence[RankValue],
    found: RunSituation | None = None,
    history: Sequence[Adjustment] = (),
) -> RuleChange | None:
    """Return what one rule finds for the first value that is its lever."""
    of = case(values if isinstance(values, RunValues) else ranks(values), found, history)
    value_of = of.of(BY_RULE[rule].lever)
    return None if value_of is None else BY_RULE[rule].find(of, value_of)


def to_of(change: RuleChange | None) -> Value | None:
    """Return what a change sets; None for no change."""
    return None if change is None else change.to
