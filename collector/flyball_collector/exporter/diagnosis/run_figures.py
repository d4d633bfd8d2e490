"""The figures of runs: of their steps, of their processes, and what their model FLOPS utilisation is computed from."""

import math
from collections.abc import Iterable, Mapping
from functools import cache

from flyball_collector.diagnosis.detector import Detector
from flyball_collector.diagnosis.runs.run_figures import RunFigureTable
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.diagnosis.view import View
from flyball_collector.exporter.diagnosis.snapshot import RunFigure
from flyball_collector.fleet.host import HostState
from flyball_collector.fleet.runs import FleetRun, live_runs

FLOPS_LABEL = "flops_per_token"
"""The label with which a training declares its operations for one token."""


def run_figures(detectors: Iterable[Detector], view: View | None, checkpoints: Mapping[str, float]) -> list[RunFigure]:
    """Return the runs that report steps, and those that only have processes."""
    figures = {figure.run: figure for figure in _of_steps(detectors)}
    for run in live_runs(view.seen_runs()) if view is not None else ():
        figures[run.run] = _with_processes(figures.get(run.run, RunFigure(run.run)), run, view)
    return [figure._replace(last_checkpoint=checkpoints.get(figure.run)) for figure in figures.values()]


def _of_steps(detectors: Iterable[Detector]) -> list[RunFigure]:
    """Return the figures of runs that report steps."""
    tables = [detector for detector in detectors if isinstance(detector, RunFigureTable)]
    return [
        RunFigure(
            run.run,
            run.ranks,
            run.step_median_seconds,
            run.slowest_step_seconds,
            run.remaining_seconds,
            run.remaining_low_seconds,
            run.remaining_high_seconds,
        )
        for table in tables
        for run in table.figures
    ]


def _with_processes(figure: RunFigure, run: FleetRun, view: View | None) -> RunFigure:
    flops = _number(run.labels.get(FLOPS_LABEL, ""))
    return figure._replace(
        ranks=figure.ranks or run.ranks,
        gpus=run.gpus,
        started=run.started_ns / 1e9,
        source=run.source,
        user=run.users[0] if len(run.users) == 1 else "",
        flops_per_token=flops,
        peak_flops=None if flops is None or view is None else _peak_flops(run, view),
    )


def _number(text: str) -> float | None:
    """Return a positive number that a person has written, or `None`."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value < math.inf else None


def _peak_flops(run: FleetRun, view: View) -> float | None:
    """Return the operations a second of all GPUs of a run, or `None` if a GPU is unknown."""
    places = [view.hosts.places.get(Subject(host)) for host in run.hosts]
    rates = [rate for place in places if place is not None for rate in _rates(run.run, view.states[place], view)]
    known = [rate for rate in rates if rate is not None]
    return sum(known) if known and len(known) == len(rates) == run.gpus else None


def _rates(run: str, state: HostState, view: View) -> list[float | None]:
    """Return the rate of each GPU that the processes of a run hold on a host."""
    if state.tenancy is None or state.inventory is None:
        return []
    models = {gpu.uuid: gpu.model for gpu in state.inventory.gpus}
    members = [member for member in state.tenancy.members if member.run and view.run_of(member) == run]
    return [_rate(models.get(gpu, "")) for gpu in dict.fromkeys(gpu for member in members for gpu in member.gpus)]


@cache
def _rate(model: str) -> float | None:
    """Return the dense rate of a GPU in 16 bits by its data sheet, or `None` if the model is not in the catalogue."""
    from flyball_planner.catalogue.devices import find_device  # noqa: PLC0415  most collectors never need the catalogue
    from flyball_planner.precision import NumberFormat  # noqa: PLC0415
    from flyball_reports.errors import InputError  # noqa: PLC0415

    try:
        device = find_device(model)
    except InputError:
        return None
    formats = [each for each in (NumberFormat.BF16, NumberFormat.FP16) if each in device.flops_per_second]
    return max((device.flops_per_second[each] for each in formats), default=None)
