"""What a writer in another thread may read of the diagnosis: how things stood at one instant."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.kinds import EventKind, Severity
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.diagnosis.waste_settings import WasteSettings

Floats = NDArray[np.float64]


class Scores(NamedTuple):
    """Along `hosts`; NaN is unknown."""

    hosts: Sequence[str]
    base: Sequence[tuple[str, Floats]]  # by resource
    bottlenecks: Sequence[tuple[str, Floats]]  # by kind, without `bottleneck_`
    confidences: Sequence[tuple[str, Floats]] = ()  # the same, of those that are raised


class ExportedCondition(NamedTuple):
    """A condition that stands; of what it foresees the newest numbers."""

    kind: EventKind
    severity: Severity
    subject: Subject
    left: float | None = None
    left_low: float | None = None
    left_high: float | None = None
    probability: float | None = None  # of what is foreseen; none where nothing is


class AdviceFigure(NamedTuple):
    """Advice that is given, to a host or to a run."""

    host: str
    run: str
    rule: str
    gain_low: float | None
    gain_high: float | None


class RunFigure(NamedTuple):
    """A run, over all its ranks; `None` is unknown."""

    run: str
    ranks: int | None = None
    median_seconds: float | None = None
    slowest_seconds: float | None = None
    left: float | None = None
    left_low: float | None = None
    left_high: float | None = None


class WasteFigures(NamedTuple):
    """GPU seconds by cause: along `hosts` × `causes`, and (run, cause, seconds)."""

    causes: Sequence[str]
    hosts: Sequence[str]
    seconds: Floats
    runs: Sequence[tuple[str, str, float]]


class XidTime(NamedTuple):
    """When the driver of a host last reported an error of a GPU, in Unix time."""

    host: str
    gpu: str
    code: int
    seconds: float


class Price(NamedTuple):
    """Of an hour of a GPU."""

    amount: float
    currency: str


def price_of(settings: WasteSettings) -> Price | None:
    """What the settings say."""
    return Price(settings.price_per_gpu_hour, settings.currency) if settings.price_per_gpu_hour > 0 else None


NO_SCORES = Scores((), (), ())
NO_WASTE = WasteFigures((), (), np.zeros((0, 0)), ())


class DiagnosisSnapshot(NamedTuple):
    """Everything that the exporter tells of the diagnosis."""

    scores: Scores = NO_SCORES
    primary: Sequence[tuple[str, str]] = ()  # (host, bottleneck)
    explained: Sequence[tuple[str, str]] = ()  # of one host: a bottleneck that is not raised, and the kind for which
    active: Sequence[
        Sequence[ExportedCondition]
    ] = ()  # in groups; a group is the same object while nothing of it changes
    events: Sequence[Event] = ()  # of one host: the same conditions, as they are now
    advice: Sequence[AdviceFigure] = ()
    runs: Sequence[RunFigure] = ()
    waste: WasteFigures = NO_WASTE
    xids: Sequence[XidTime] = ()
    price: Price | None = None
