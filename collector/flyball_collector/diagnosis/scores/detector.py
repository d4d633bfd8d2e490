"""Runs all scores of all hosts and GPUs, and claims the bottlenecks that are probable and cost enough."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.kinds import EventKind
from flyball_collector.diagnosis.largest_by_host import largest_by_host
from flyball_collector.diagnosis.scores import (
    accelerator,
    gpu_feed,
    kernel_evidence,
    memory,
    network,
    processor,
    storage,
)
from flyball_collector.diagnosis.scores.base_scores import BaseScores
from flyball_collector.diagnosis.scores.calibration import Calibration, shipped
from flyball_collector.diagnosis.scores.cores import Cores
from flyball_collector.diagnosis.scores.evidence import Assessment, Flags, sigmoid
from flyball_collector.diagnosis.scores.gpu_signals import GpuSignals
from flyball_collector.diagnosis.scores.score_table import ScoreTable
from flyball_collector.diagnosis.scores.settings import ScoreSettings
from flyball_collector.diagnosis.scores.signals import Signals
from flyball_collector.diagnosis.scores.spells import Spells
from flyball_collector.diagnosis.subject import Subjects
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]

OF_HOSTS: tuple[tuple[Callable[[Signals], Assessment], tuple[str, ...]], ...] = (
    (processor.assess_cpu, ("cpu_some", "throttled")),
    (memory.assess_memory, ("memory_some",)),
    (memory.assess_swap, ("swap_in",)),
    (storage.assess_disk, ("io_some", "disk_busy")),
    (network.assess_network, ("latency", "mixed_latency", "link_use")),
    (network.assess_service, ("service_share",)),
    (storage.assess_checkpoint, ("checkpoint_share",)),
    (network.assess_interconnect, ("fabric_use",)),
    (gpu_feed.assess_sync, ("sync_share",)),
    (gpu_feed.assess_numa, ("remote_pages",)),
)
"""Each assessment reads only the signals, and needs at least one of those named. `data_wait` and `host` need more."""

EXPLAIN_WAITING = frozenset({"bottleneck_memory", "bottleneck_swap", "bottleneck_disk", "bottleneck_network"})

OF_GPUS: tuple[Callable[[GpuSignals], Assessment], ...] = (
    accelerator.assess_gpu_compute,
    accelerator.assess_gpu_memory,
    accelerator.assess_small_batch,
    accelerator.assess_pcie,
    accelerator.assess_idle_gpu,
    accelerator.assess_low_use,
)

KINDS_OF_GPUS: tuple[EventKind, ...] = (
    accelerator.COMPUTE,
    accelerator.MEMORY,
    accelerator.SMALL_BATCH,
    accelerator.PCIE,
    accelerator.IDLE,
    accelerator.LOW_USE,
)
"""The kinds in the order of `OF_GPUS`."""

KINDS: tuple[EventKind, ...] = (
    processor.KIND,
    memory.MEMORY,
    memory.SWAP,
    storage.DISK,
    network.NETWORK,
    network.SERVICE,
    storage.CHECKPOINT,
    network.INTERCONNECT,
    gpu_feed.SYNC,
    gpu_feed.NUMA,
    gpu_feed.DATA_WAIT,
    gpu_feed.HOST,
    *KINDS_OF_GPUS,
)

COME_AND_GO = frozenset(
    kind.name for kind in (gpu_feed.DATA_WAIT, gpu_feed.HOST, gpu_feed.SYNC, accelerator.PCIE, accelerator.SMALL_BATCH)
)
"""Kinds that show in gaps of a GPU's work, which often come in spells."""

_PLACES = {kind.name: place for place, kind in enumerate(KINDS)}
_FIRST_OF_GPUS = len(KINDS) - len(KINDS_OF_GPUS)

FEW_UPDATES = 3
"""Nothing is claimed for a host before this number of updates."""

ENOUGH_UPDATES = 5
"""Evidence counts less before this number of updates."""

GPUS_EVERY = 1.5
"""Seconds between two evaluations of the GPUs: below two, because the seconds vary slightly."""

ONE_SOURCE = 0.6
"""The highest confidence from one source of evidence if the probability is not calibrated."""

_OF_GPUS_NEED = ("gpu_utilization_ratio", "gpu_pcie_width_lanes")
"""Without both metrics, nothing is known about GPUs."""


class BottleneckDetector:
    """Evaluates all scores. `table` holds the newest ones."""

    name = "bottlenecks"
    kinds: Sequence[EventKind] = KINDS
    needs: Sequence[str] = ()  # base scores are always shown, and step reports are smoothed from the first second on

    def __init__(
        self, settings: ScoreSettings, calibration: Calibration | None = None, *, tabulates: bool = True
    ) -> None:
        """Set up the scores. Without `tabulates` no score table is made; the claims are the same."""
        self.table: ScoreTable | None = None
        self._tabulates = tabulates
        self._settings = settings
        self._calibration = shipped() if calibration is None else calibration
        self._signals = Signals(settings.smoothing_seconds)
        self._gpus = GpuSignals()
        self._of_gpus: list[Assessment] = []
        self._gpu_claims: list[Claims] = []
        self._gpu_lines: Floats = np.empty(0)  # kind × (score, probability) × host: the worst GPU of each host
        self._swings: Floats | None = None  # along hosts: the largest of their GPUs
        self._bases: dict[Subjects, _Basis] = {}  # of this second
        self._gpus_evaluated = float("-inf")
        self._spells = {name: Spells() for name in COME_AND_GO}
        self._hosts = self._signals.hosts
        self._cores = Cores()
        self._base = BaseScores(settings)

    def observe(self, view: View) -> Iterable[Claims]:
        """Evaluate everything. Expensive work runs between two claims, so that the event loop can run."""
        self._signals.update(view)
        self._bases.clear()
        kernel = kernel_evidence.of_trainings(self._signals)
        found = self._by_signals(kernel)
        claims = [self._claim(view, assessment) for assessment in found]
        yield from claims
        if self._evaluate_gpus(view):
            yield from self._gpu_claims
        more = kernel_evidence.combined(self._by_more(view, found), kernel, kernel_evidence.LATER)
        claims += [self._claim(view, assessment) for assessment in more]
        yield from claims[len(found) :]
        if self._tabulates:
            self.table = self._tabulate(view, zip([*found, *more], claims, strict=True))

    def _evaluate_gpus(self, view: View) -> bool:
        """Evaluate the GPUs every other second: there are many of them, and what limits them changes slowly."""
        if not view.seen_metrics.any_of(_OF_GPUS_NEED):
            return False
        if (
            view.gpus is self._gpus.gpus
            and view.hosts is self._hosts
            and 0 <= view.now - self._gpus_evaluated < GPUS_EVERY
        ):
            return False
        self._gpus_evaluated, self._hosts = view.now, view.hosts
        self._gpus.update(view, self._signals.rates, ~np.isnan(self._signals["data_share"]))
        self._of_gpus = [assess(self._gpus) for assess in OF_GPUS]
        self._swings = view.largest_by_host(self._spreads(), view.gpus.hosts)
        self._gpu_claims = [self._claim(view, assessment) for assessment in self._of_gpus]
        if self._tabulates:
            lines = np.empty((len(OF_GPUS), 2, len(view.gpus)))
            for into, found, claims in zip(lines, self._of_gpus, self._gpu_claims, strict=True):
                _write_lines(into, found, claims)
            self._gpu_lines = largest_by_host(lines, view.gpus.hosts, len(view.hosts))
        return True

    def _by_signals(self, kernel: kernel_evidence.Kernel) -> list[Assessment]:
        """Return the assessments that need only signals, as far as these were ever known."""
        found = [assess(self._signals) for assess, needed in OF_HOSTS if self._signals.ever_known(*needed)]
        return kernel_evidence.combined(found, kernel, kernel_evidence.AT_ONCE)

    def _by_more(self, view: View, found: Iterable[Assessment]) -> Iterator[Assessment]:
        """Yield the assessments that also need GPUs, cores or other assessments."""
        signals = self._signals
        if signals.ever_known("data_share") or self._of_gpus:
            swings = np.full(len(view.hosts), np.nan) if self._swings is None else self._swings
            explaining = [assessment for assessment in found if assessment.kind.name in EXPLAIN_WAITING]
            yield gpu_feed.assess_data_wait(signals, swings, explaining)
        if signals.ever_known("gpu_busy"):
            yield gpu_feed.assess_host(signals, self._cores.update(view, gpu_feed.hosts_to_measure(signals)))

    def _spreads(self) -> Floats:
        """Return the spread of utilisation of GPUs that work part of the time, once enough readings are known."""
        gpus = self._gpus
        found = np.full(len(gpus.mean), np.nan)
        works = np.flatnonzero(gpus.held & (gpus.mean > 0.1) & (gpus.mean < 0.9) & (gpus.updates >= 20))
        found[works] = gpus.spread[works]
        return found

    def _claim(self, view: View, found: Assessment) -> Claims:
        settings, kind, basis = self._settings, found.kind.name, self._basis(view, found.subjects)
        weighed = confidence = found.probability
        log_odds, unsure = found.log_odds, found.sources <= 1
        if basis.ramp is not None:
            log_odds = log_odds * basis.ramp
            confidence = sigmoid(log_odds)
        measured = np.zeros(len(found.subjects), dtype=np.bool_)
        if self._calibration.knows(kind):
            measured = basis.reports_steps if found.uncalibrated is None else basis.reports_steps & ~found.uncalibrated
            confidence = np.where(measured, self._calibration.probability(kind, log_odds), confidence)
            unsure &= ~measured
        confidence = np.where(unsure, np.minimum(confidence, ONE_SOURCE), confidence)
        if found.most is not None:
            confidence = np.minimum(confidence, found.most)
        supported = (found.sources >= 1) & found.known
        enters = supported & (weighed >= settings.raise_probability) & (found.level >= settings.least_level)
        stays = supported & (weighed >= settings.keep_probability) & (found.level >= settings.least_level / 2)
        if kind in self._spells:
            stays |= self._spells[kind].held(found.subjects, enters, stays, view.now)
        return Claims(
            kind=found.kind,
            subjects=found.subjects,
            enters=enters,
            stays=stays,
            confidence=confidence,
            known=basis.known,
            level=found.level,
            because=partial(_because, found, measured),
            evidence={**found.evidence, "log_odds": log_odds},
        )

    def _basis(self, view: View, of: Subjects) -> "_Basis":
        """Return what is the same for all kinds of these subjects in this second."""
        if of not in self._bases:
            signals, hosts = self._signals, of.hosts
            updates = signals.updates
            known = (updates >= FEW_UPDATES) & view.alive & ~signals.paused  # a paused run is not slow
            ramp = np.minimum(updates / ENOUGH_UPDATES, 1.0)[hosts] if (updates < ENOUGH_UPDATES).any() else None
            self._bases[of] = _Basis(known[hosts], ~np.isnan(signals["data_share"])[hosts], ramp)
        return self._bases[of]

    def _tabulate(self, view: View, judged: Iterable[tuple[Assessment, Claims]]) -> ScoreTable:
        """Make the table. It has a line for every bottleneck, known or not."""
        lines = np.full((len(KINDS), 2, len(view.hosts)), np.nan)
        for assessment, claims in judged:
            _write_lines(lines[_PLACES[assessment.kind.name]], assessment, claims)
        if self._of_gpus:
            lines[_FIRST_OF_GPUS:] = self._gpu_lines
        lines[..., self._signals.paused] = np.nan
        names = [kind.name.removeprefix("bottleneck_") for kind in KINDS]
        score, chance = lines.transpose(1, 0, 2)
        return ScoreTable(
            view.hosts,
            self._base.score(view, self._signals),
            dict(zip(names, score, strict=True)),
            dict(zip(names, chance, strict=True)),
        )


@dataclass(frozen=True, slots=True)
class _Basis:
    """Holds what the claims of all kinds along some subjects share."""

    known: Flags
    reports_steps: Flags  # calibration applies: in all labelled runs, the training reported its steps
    ramp: Floats | None  # weight of the evidence of hosts with few updates; None: all have enough


def _write_lines(into: Floats, found: Assessment, claims: Claims) -> None:
    """Write score and probability."""
    np.multiply(found.level, claims.confidence, out=into[0])
    into[1] = claims.confidence
    if not found.known.all():
        np.copyto(into, np.nan, where=~found.known)


def _because(found: Assessment, measured: Flags, place: int) -> str:
    words = found.words(place)
    return words if measured[place] or not words else f"{words} (uncalibrated)"
