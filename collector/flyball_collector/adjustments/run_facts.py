"""Collects the facts about one run for the rules of adjustments: from the newest view, conditions and advice."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flyball_collector.adjustments.call_meter import CallMeter, CallShares
from flyball_collector.adjustments.run_situation import SECOND, MemoryFault, RunSituation
from flyball_collector.adjustments.warming_meter import WarmingMeter
from flyball_collector.advice.advisor import Advisor
from flyball_collector.advice.fleet_facts import FleetFacts
from flyball_collector.advice.situation import Situation
from flyball_collector.diagnosis.conditions import Conditions, place_of
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.runs.run_view import Runs, RunView
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.diagnosis.view import View
from flyball_collector.fleet.run_steps import RunSteps, run_steps

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

BATTERY, MAINS = "battery", "mains"

_MEAN_SECONDS = 60


@dataclass(frozen=True, slots=True)
class _Moment:
    """The facts that all runs of one second share."""

    view: View
    runs: RunView
    facts: FleetFacts


class RunFacts:
    """Call `situation` every few seconds for each run with adjustable values: it measures calls between two of them."""

    def __init__(self, advisor: Advisor) -> None:
        self._advisor = advisor
        self._runs = Runs()
        self._meters: dict[str, CallMeter] = {}
        self._heat: dict[str, WarmingMeter] = {}
        self._gpus: dict[str, set[str]] = {}  # that a run has held: conditions of a lost one are still its own
        self._moment: _Moment | None = None

    def situation(
        self,
        view: View,
        conditions: Conditions,
        run: str,
        faults: Sequence[MemoryFault] = (),
        changed_ns: int = 0,
    ) -> RunSituation | None:
        """Return the facts about a run; None if none of its ranks reports steps.

        `faults`: when ranks of this attempt ran out of memory. `changed_ns`: when a value of the run was last changed;
        what was measured before does not count.
        """
        steps = run_steps(run, view.ranks.of_run(run, view.now_ns))
        if steps is None:
            return None
        moment = self._at(view)
        hosts = tuple(dict.fromkeys(rank.host for rank in steps.ranks))
        gpus = gpus_of(moment.runs, view, run, hosts)
        held = self._gpus.setdefault(run, set())
        held.update(view.gpus.names[place].gpu for place in gpus.tolist())
        events = _events(conditions, run, hosts, held)
        calls = self._meters.setdefault(run, CallMeter()).take(steps, view.now_ns, changed_ns)
        found = _host_situations(moment, hosts, gpus, calls, events)
        return RunSituation(
            run=run,
            now_ns=view.now_ns,
            active=_by_kind(events),
            advice=tuple(
                one
                for one in self._advisor.current
                if one.subject.run == run or (not one.subject.run and one.subject.host in hosts)
            ),
            faults=tuple(faults),
            hosts=found,
            **_of_steps(steps, view),
            **_of_gpus(view, gpus),
            warming=self._warming(view, run, gpus, changed_ns),
            heat_seconds_left=_heat_seconds_left(conditions, held),
            **_of_hosts(found),
            calls_per_sample=calls.calls_per_sample,
            call_seconds=calls.call_seconds,
            service_share=calls.service_share,
        )

    def forget(self, run: str) -> None:
        """Forget a run that is over."""
        self._meters.pop(run, None)
        self._heat.pop(run, None)
        self._gpus.pop(run, None)

    def _warming(self, view: View, run: str, gpus: Places, changed_ns: int) -> float | None:
        nearest = _nearest(view, gpus)
        gpu, margin = ("", None) if nearest is None else (view.gpus.names[nearest].gpu, float(_margins(view)[nearest]))
        return self._heat.setdefault(run, WarmingMeter()).take(gpu, margin, view.now, changed_ns / SECOND)

    def _at(self, view: View) -> _Moment:
        if self._moment is None or self._moment.view is not view:
            self._moment = _Moment(view, self._runs.of(view), self._advisor.facts(view))
        return self._moment


def gpus_of(runs: RunView, view: View, run: str, hosts: Sequence[str]) -> Places:
    """Return the places of a run's GPUs.

    These are the GPUs that its processes hold. On a host without any other run, GPUs without a known
    holder count too: the processes in a container are hidden.
    """
    number = next((place for place, subject in enumerate(runs.runs.names) if subject.run == run), -1)
    held = np.flatnonzero(runs.run_of_gpu == number) if number >= 0 else np.empty(0, dtype=np.int64)
    if len(held):
        return held
    others = {key.host for key in runs.keys if key.run != run}
    alone = {view.hosts.places.get(Subject(host), -1) for host in hosts if host not in others} - {-1}
    unknown = (runs.run_of_gpu < 0) & (runs.work_of_gpu < 0)
    return np.flatnonzero(np.isin(view.gpus.hosts, list(alone)) & unknown)


def _events(conditions: Conditions, run: str, hosts: Iterable[str], gpus: set[str]) -> tuple[Event, ...]:
    """Return the active conditions of the run, of its hosts and of its own GPUs."""
    places = [place_of(Subject(run=run)), *hosts]
    events = [active.event for place in places for active in conditions.active_of(place)]
    return tuple(
        event
        for event in events
        if event.subject.run in ("", run) and (not event.subject.gpu or event.subject.gpu in gpus)
    )


def _by_kind(events: Iterable[Event]) -> dict[str, tuple[Event, ...]]:
    found: dict[str, tuple[Event, ...]] = {}
    for event in events:
        found[event.kind.name] = (*found.get(event.kind.name, ()), event)
    return found


def _host_situations(
    moment: _Moment, hosts: Sequence[str], gpus: Places, calls: CallShares, events: Sequence[Event]
) -> tuple[Situation, ...]:
    """Return the facts of each host. Only the run's own GPUs count."""
    places = [Subject(host) for host in hosts]
    known = {found.subject.host: found for found in moment.facts.situations((), places)}
    counts = Counter(moment.view.gpus.names[place].host for place in gpus.tolist())
    measured = {
        name: value
        for name in ("calls_per_sample", "call_seconds", "service_share")
        if (value := getattr(calls, name)) is not None
    }
    return tuple(
        replace(
            known[host],
            gpus=counts[host],
            active=_by_kind(event for event in events if event.subject.host == host),
            **measured,
        )
        for host in hosts
    )


def _of_steps(steps: RunSteps, view: View) -> dict[str, Any]:
    first = _first_report(view, steps.run)
    peaks = [rank.allocated_peak_bytes for rank in steps.ranks if rank.allocated_peak_bytes is not None]
    return {
        "world_size": max(rank.world_size for rank in steps.ranks) or None,
        "step_seconds": steps.recent.step_seconds,
        "failures": steps.attempt,
        "hours": None if first is None else max(0.0, view.now - first) / 3600.0,
        "peak_bytes": float(max(peaks)) if peaks else None,
    }


def _first_report(view: View, run: str) -> float | None:
    """Return when the first of a run's ranks has begun, in seconds; None if unknown."""
    keys = view.ranks.keys  # sorted by run
    first = bisect_left(keys, (run,))
    count = sum(1 for _ in takewhile(lambda key: key.run == run, islice(keys, first, None)))
    begun = view.ranks.column("begun")[first : first + count]
    return float(begun[begun > 0].min()) if (begun > 0).any() else None


def _of_gpus(view: View, gpus: Places) -> dict[str, Any]:
    nearest = _nearest(view, gpus)
    throttled = [view.gpu("gpu_throttle_active", reason=reason)[gpus] for reason in ("hw_thermal", "sw_thermal")]
    slowed = None if all(np.isnan(each).all() for each in throttled) else any((each == 1).any() for each in throttled)
    return {
        "gpus": len(gpus),
        "gpu_busy_share": _mean(view.gpu("gpu_utilization_ratio", _MEAN_SECONDS)[gpus]),
        "memory_total_bytes": _least(view.gpu("gpu_memory_total_bytes")[gpus]),
        "temperature_margin_celsius": None if nearest is None else float(_margins(view)[nearest]),
        "temperature_celsius": None if nearest is None else _known(float(view.gpu("gpu_temperature_celsius")[nearest])),
        "slowed_by_heat": slowed,
    }


def _heat_seconds_left(conditions: Conditions, gpus: set[str]) -> float | None:
    """Return when clocks will fall by this second's forecasts. A condition stays active for a minute after the last."""
    latest = conditions.latest("thermal_slowdown")
    if latest is None or latest.seconds_left is None:
        return None
    names = latest.subjects.names
    forecast = np.flatnonzero(latest.enters & np.isfinite(latest.seconds_left)).tolist()
    return min((float(latest.seconds_left[place]) for place in forecast if names[place].gpu in gpus), default=None)


def _nearest(view: View, gpus: Places) -> int | None:
    """Return the place of the GPU with the least margin; None if no margin is known."""
    margins = _margins(view)[gpus]
    return None if np.isnan(margins).all() else int(gpus[np.nanargmin(margins)])


def _margins(view: View) -> Floats:
    """Return the degrees left along GPUs. The driver's own margin is preferred to limit minus temperature."""
    reported = view.gpu("gpu_temperature_margin_celsius")
    computed = view.gpu("gpu_slowdown_temperature_celsius") - view.gpu("gpu_temperature_celsius")
    return np.where(np.isnan(reported), computed, reported)


def _of_hosts(hosts: Sequence[Situation]) -> Mapping[str, Any]:
    sources = {host.power_source for host in hosts}
    battery = True if BATTERY in sources else False if sources == {MAINS} else None
    habits = [host for host in hosts if host.checkpoint_seconds is not None]
    return {
        "on_battery": battery,
        "checkpoint_seconds": habits[0].checkpoint_seconds if habits else None,
        "checkpoint_interval_seconds": habits[0].checkpoint_interval_seconds if habits else None,
    }


def _least(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.min()) if len(known) else None


def _mean(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def _known(value: float) -> float | None:
    return value if np.isfinite(value) else None
