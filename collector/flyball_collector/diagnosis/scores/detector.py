"""Asks every score of every host and GPU, and claims those bottlenecks that are probable and cost enough."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.kinds import EventKind
from flyball_collector.diagnosis.scores import accelerator, feeding, processor, reach, shortage, storage
from flyball_collector.diagnosis.scores.base import BaseScores
from flyball_collector.diagnosis.scores.calibration import Calibration, shipped
from flyball_collector.diagnosis.scores.cores import Cores
from flyball_collector.diagnosis.scores.evidence import Assessment, Flags, sigmoid
from flyball_collector.diagnosis.scores.gpu_signals import GpuSignals
from flyball_collector.diagnosis.scores.score_table import ScoreTable
from flyball_collector.diagnosis.scores.settings import ScoreSettings
from flyball_collector.diagnosis.scores.signals import Signals
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]

OF_HOSTS: tuple[tuple[Callable[[Signals], Assessment], tuple[str, ...]], ...] = (
    (processor.assess_cpu, ("cpu_some", "throttled")),
    (shortage.assess_memory, ("memory_some",)),
    (shortage.assess_swap, ("swap_in",)),
    (storage.assess_disk, ("io_some", "disk_busy")),
    (reach.assess_network, ("latency", "link_use")),
    (reach.assess_service, ("service_share",)),
    (storage.assess_checkpoint, ("checkpoint_share",)),
    (reach.assess_interconnect, ("fabric_use",)),
    (feeding.assess_sync, ("sync_share",)),
    (feeding.assess_numa, ("remote_pages",)),
)
"""Each reads the signals alone, and knows something where one of those named is known; `data_wait` and `host` need
more."""

EXPLAIN_WAITING = frozenset({"bottleneck_memory", "bottleneck_swap", "bottleneck_disk", "bottleneck_network"})

OF_GPUS: tuple[Callable[[GpuSignals], Assessment], ...] = (
    accelerator.assess_gpu_compute,
    accelerator.assess_gpu_memory,
    accelerator.assess_small_batch,
    accelerator.assess_pcie,
    accelerator.assess_idle_gpu,
)

KINDS_OF_GPUS: tuple[EventKind, ...] = (
    accelerator.COMPUTE,
    accelerator.MEMORY,
    accelerator.SMALL_BATCH,
    accelerator.PCIE,
    accelerator.IDLE,
)
"""As their assessments stand in `OF_GPUS`."""

KINDS: tuple[EventKind, ...] = (
    processor.KIND,
    shortage.MEMORY,
    shortage.SWAP,
    storage.DISK,
    reach.NETWORK,
    reach.SERVICE,
    storage.CHECKPOINT,
    reach.INTERCONNECT,
    feeding.SYNC,
    feeding.NUMA,
    feeding.DATA_WAIT,
    feeding.HOST,
    *KINDS_OF_GPUS,
)

_PLACES = {kind.name: place for place, kind in enumerate(KINDS)}
_FIRST_OF_GPUS = len(KINDS) - len(KINDS_OF_GPUS)

FEW_LOOKS = 3
"""Nothing is claimed of a host before."""

ENOUGH_LOOKS = 5
"""Evidence counts less before."""

GPUS_EVERY = 1.5
"""Seconds between two looks at the GPUs: less than two, as seconds waver."""

ONE_GROUP = 0.6
"""As sure as one group of evidence can make us where nothing was measured."""

_OF_GPUS_NEED = ("gpu_utilization_ratio", "gpu_pcie_width_lanes")
"""Without both nothing is known of any GPU."""


class BottleneckDetector:
    """`table` holds the newest scores."""

    name = "bottlenecks"
    kinds: Sequence[EventKind] = KINDS
    needs: Sequence[str] = ()  # base scores are always shown, and what steps say is smoothed from the first second on

    def __init__(
        self, settings: ScoreSettings, calibration: Calibration | None = None, *, tabulates: bool = True
    ) -> None:
        """`tabulates`: scores are shown, too; what is claimed does not depend on it."""
        self.table: ScoreTable | None = None
        self._tabulates = tabulates
        self._settings = settings
        self._calibration = shipped() if calibration is None else calibration
        self._signals = Signals(settings.smoothing_seconds)
        self._gpus = GpuSignals()
        self._of_gpus: list[Assessment] = []
        self._gpu_claims: list[Claims] = []
        self._gpu_lines: Floats = np.empty(0)  # kind × (score, probability) × host: the worst of a host's GPUs
        self._looked = float("-inf")
        self._hosts = self._signals.hosts
        self._cores = Cores()
        self._base = BaseScores(settings)

    def observe(self, view: View) -> Iterable[Claims]:
        """One look at everything; what is dear stands between two claims."""
        self._signals.look(view)
        found = self._by_signals()
        claims = [self._claim(view, assessment) for assessment in found]
        yield from claims
        if self._look_at_gpus(view):
            yield from self._gpu_claims
        more = list(self._by_more(view, found))
        claims += [self._claim(view, assessment) for assessment in more]
        yield from claims[len(found) :]
        if self._tabulates:
            self.table = self._tabulate(view, zip([*found, *more], claims, strict=True))

    def _look_at_gpus(self, view: View) -> bool:
        """Every other second: there are many of them, and what bounds them changes slowly."""
        if not view.met.any_of(_OF_GPUS_NEED):
            return False
        if view.gpus is self._gpus.gpus and view.hosts is self._hosts and 0 <= view.now - self._looked < GPUS_EVERY:
            return False
        self._looked, self._hosts = view.now, view.hosts
        self._gpus.look(view, self._signals.rates)
        self._of_gpus = [assess(self._gpus) for assess in OF_GPUS]
        self._gpu_claims = [self._claim(view, assessment) for assessment in self._of_gpus]
        if self._tabulates:
            lines = np.array([_lines(*judged) for judged in zip(self._of_gpus, self._gpu_claims, strict=True)])
            self._gpu_lines = _worst(lines, view.gpus.hosts, len(view.hosts))
        return True

    def _by_signals(self) -> list[Assessment]:
        """What can be known by the signals that were ever heard, alone."""
        return [assess(self._signals) for assess, needed in OF_HOSTS if self._signals.heard(*needed)]

    def _by_more(self, view: View, found: Iterable[Assessment]) -> Iterator[Assessment]:
        """What needs a look at GPUs, at cores, or at what else was found."""
        signals = self._signals
        if signals.heard("data_share") or self._of_gpus:
            swings = view.largest_by_host(self._swings(view), view.gpus.hosts)
            explaining = [assessment for assessment in found if assessment.kind.name in EXPLAIN_WAITING]
            yield feeding.assess_data_wait(signals, swings, explaining)
        if signals.heard("gpu_busy"):
            yield feeding.assess_host(signals, self._cores.look(view, feeding.hosts_to_look_at(signals)))

    def _swings(self, view: View) -> Floats:
        """Of GPUs that work, but not all the time, and were watched for long enough to say so."""
        gpus = self._gpus
        if not self._of_gpus:
            return np.full(len(view.gpus), np.nan)
        works = gpus.held & (gpus.mean > 0.1) & (gpus.mean < 0.9) & (gpus.looks >= 20)
        return np.where(works, gpus.spread, np.nan)

    def _claim(self, view: View, found: Assessment) -> Claims:
        settings, kind = self._settings, found.kind.name
        looks = self._signals.looks[found.subjects.hosts]
        weighed = confidence = found.probability
        log_odds, measured = found.log_odds, self._measured(found)
        if (looks < ENOUGH_LOOKS).any():
            log_odds = log_odds * np.minimum(looks / ENOUGH_LOOKS, 1.0)
            confidence = sigmoid(log_odds)
        if self._calibration.knows(kind):
            confidence = np.where(measured, self._calibration.probability(kind, log_odds), confidence)
        unsure = ~measured & (found.groups <= 1)
        confidence = np.where(unsure, np.minimum(confidence, ONE_GROUP), confidence)
        speaks = (found.groups >= 1) & found.known
        enters = speaks & (weighed >= settings.raise_probability) & (found.level >= settings.least_level)
        stays = speaks & (weighed >= settings.keep_probability) & (found.level >= settings.least_level / 2)
        return Claims(
            kind=found.kind,
            subjects=found.subjects,
            enters=enters,
            stays=stays,
            confidence=confidence,
            known=(looks >= FEW_LOOKS) & view.alive[found.subjects.hosts],
            level=found.level,
            because=partial(_because, found, measured),
            evidence={**found.evidence, "log_odds": log_odds},
        )

    def _measured(self, found: Assessment) -> Flags:
        """Whose probabilities are known from labelled runs: in all of those the training told of its steps."""
        if not self._calibration.knows(found.kind.name):
            return np.zeros(len(found.subjects), dtype=np.bool_)
        return ~np.isnan(self._signals["data_share"])[found.subjects.hosts]

    def _tabulate(self, view: View, judged: Iterable[tuple[Assessment, Claims]]) -> ScoreTable:
        """Every bottleneck has its place, also one of which nothing can be known."""
        lines = np.full((len(KINDS), 2, len(view.hosts)), np.nan)
        for assessment, claims in judged:
            lines[_PLACES[assessment.kind.name]] = _lines(assessment, claims)
        if self._of_gpus:
            lines[_FIRST_OF_GPUS:] = self._gpu_lines
        names = [kind.name.removeprefix("bottleneck_") for kind in KINDS]
        score, chance = lines.transpose(1, 0, 2)
        return ScoreTable(
            view.hosts,
            self._base.score(view, self._signals),
            dict(zip(names, score, strict=True)),
            dict(zip(names, chance, strict=True)),
        )


def _lines(found: Assessment, claims: Claims) -> tuple[Floats, Floats]:
    """Score and probability."""
    return (
        np.where(found.known, found.level * claims.confidence, np.nan),
        np.where(found.known, claims.confidence, np.nan),
    )


def _worst(values: Floats, hosts: NDArray[np.int64], count: int) -> Floats:
    """The largest of each host's GPUs, along the last axis; GPUs stand host by host."""
    found = np.full((*values.shape[:-1], count), np.nan)
    if len(hosts):
        starts = np.flatnonzero(np.diff(hosts, prepend=-1))
        found[..., hosts[starts]] = np.fmax.reduceat(values, starts, axis=-1)
    return found


def _because(found: Assessment, measured: Flags, place: int) -> str:
    words = found.words(place)
    return words if measured[place] else f"{words} (uncalibrated)"
