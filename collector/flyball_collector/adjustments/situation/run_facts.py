"""Collects the facts about one run for the rules of adjustments: from the newest view, conditions and advice."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flyball_collector.adjustments.situation.call_meter import CallMeter, CallShares
from flyball_collector.adjustments.situation.run_situation import SECOND, MemoryFault, RunSituation
from flyball_collector.adjustments.situation.warming_meter import WarmingMeter
from flyball_collector.advice.advisor import Advisor
from flyball_collector.advice.fleet_facts import FleetFacts
from flyball_collector.advice.situation import Situation
from flyball_collector.diagnosis.active_conditions import place_of
from flyball_collector.diagnosis.conditions import Conditions
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.health.kill_cause import concerns_only_others
from flyball_collector.diagnosis.runs.remaining_time import total_steps
from flyball_collector.diagnosis.runs.run_view import Runs, RunView
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.diagnosis.view import View
from flyball_collector.fleet.ranks import Ranks
from flyball_collector.fleet.run_steps import run_steps

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

BATTERY, MAINS = "battery", "mains"

MOST_CALLING_RANKS = 256
"""Calls are measured in runs with up to this many ranks. Learners that wait for services have few."""

_MEAN_SECONDS = 60
_SETTLING_SECONDS = 30.0  # as in `run_steps`
_MORE_THAN_RANKS = 2**32


@dataclass(frozen=True, slots=True)
class _Moment:
    """The facts that all runs of one second share."""

    view: View
    runs: RunView
    facts: FleetFacts
    total_steps: Floats  # along runs; NaN: unknown


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
        *,
        calls_services: bool = True,
    ) -> RunSituation | None:
        """Return the facts about a run; None if none of its ranks reports steps.

        `faults`: when ranks of this attempt ran out of memory. `changed_ns`: when a value of the run was last changed;
        what was measured before does not count. Calls are measured only with `calls_services`: they cost 0.1 ms a rank.
        """
        ranks = reporting_ranks(view.ranks, run)
        if not len(ranks):
            return None
        moment = self._at(view)
        hosts = tuple(dict.fromkeys(view.ranks.keys[place].host for place in ranks.tolist()))
        gpus = gpus_of(moment.runs, view, run, hosts)
        held = self._gpus.setdefault(run, set())
        held.update(view.gpus.names[place].gpu for place in gpus.tolist())
        events = _events(conditions, run, hosts, held)
        calls = self._calls(view, run, len(ranks), changed_ns) if calls_services else CallShares()
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
            **_of_ranks(view, ranks),
            **_of_length(moment, run, ranks),
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

    def _calls(self, view: View, run: str, ranks: int, changed_ns: int) -> CallShares:
        steps = run_steps(run, view.ranks.of_run(run, view.now_ns)) if ranks <= MOST_CALLING_RANKS else None
        meter = self._meters.setdefault(run, CallMeter())
        return CallShares() if steps is None else meter.take(steps, view.now_ns, changed_ns)

    def _warming(self, view: View, run: str, gpus: Places, changed_ns: int) -> float | None:
        nearest = _nearest(view, gpus)
        gpu, margin = ("", None) if nearest is None else (view.gpus.names[nearest].gpu, float(_margins(view)[nearest]))
        return self._heat.setdefault(run, WarmingMeter()).take(gpu, margin, view.now, changed_ns / SECOND)

    def _at(self, view: View) -> _Moment:
        if self._moment is None or self._moment.view is not view:
            runs = self._runs.of(view)
            self._moment = _Moment(view, runs, self._advisor.facts(view), total_steps(runs))
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
        if not concerns_only_others(event.kind.name, event.evidence, event.because, run)
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
    of_host: dict[str, list[Event]] = {}
    for event in events:
        of_host.setdefault(event.subject.host, []).append(event)
    counts = Counter(moment.view.gpus.names[place].host for place in gpus.tolist())
    measured = {name: value for name, value in asdict(calls).items() if value is not None}
    return tuple(
        found
        if not measured and host not in of_host and found.gpus == counts[host]  # of most hosts of a large run
        else replace(found, gpus=counts[host], active=_by_kind(of_host.get(host, ())), **measured)
        for host, found in zip(hosts, moment.facts.situations((), map(Subject, hosts)), strict=True)
    )


def reporting_ranks(ranks: Ranks, run: str) -> Places:
    """Return the places of the ranks of a run's newest attempt, as `run_steps` chooses them but for moved ranks."""
    first, end = bisect_left(ranks.keys, (run,)), bisect_left(ranks.keys, (run, _MORE_THAN_RANKS))
    places = np.arange(first, end)
    received, attempt = ranks.column("received")[places], ranks.column("attempt")[places]
    if not len(places):
        return places
    recent = received > received.max() - _SETTLING_SECONDS
    chosen: Places = places[recent | (attempt == attempt[recent].max())]
    return chosen


def _of_ranks(view: View, ranks: Places) -> dict[str, Any]:
    table = view.ranks
    begun = table.column("begun")[ranks]
    first = _least(begun[begun > 0])
    steps = table.steady_mean("step_seconds", ranks)
    peaks = table.column("allocated_peak_bytes")[ranks]
    return {
        "world_size": int(table.column("world_size")[ranks].max()) or None,
        "step_seconds": _middle(steps),
        "failures": int(table.column("attempt")[ranks].max()),
        "hours": None if first is None else max(0.0, view.now - first) / 3600.0,
        "peak_bytes": None if np.isnan(peaks).all() else float(np.nanmax(peaks)),
    }


def _of_length(moment: _Moment, run: str, ranks: Places) -> dict[str, Any]:
    """Return the total number of steps, and how many are left, if the run has announced its length."""
    number = next((place for place, subject in enumerate(moment.runs.runs.names) if subject.run == run), -1)
    total = _known(float(moment.total_steps[number])) if number >= 0 else None
    if total is None:
        return {}
    return {"total_steps": total, "steps_left": max(0.0, total - float(moment.view.ranks.column("step")[ranks].max()))}


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


def _middle(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else None


def _mean(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def _known(value: float) -> float | None:
    return value if np.isfinite(value) else None
