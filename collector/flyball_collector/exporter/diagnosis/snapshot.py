"""A copy of the diagnosis's results at one instant, which a writer in another thread may read."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flyball_collector.adjustments.shown.tally import AdjustmentFigures
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.kinds import EventKind, Severity
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.diagnosis.waste_settings import WasteSettings

Floats = NDArray[np.float64]


class Scores(NamedTuple):
    """Scores along `hosts`; NaN is unknown."""

    hosts: Sequence[str]
    base: Sequence[tuple[str, Floats]]  # by resource
    bottlenecks: Sequence[tuple[str, Floats]]  # by kind, without `bottleneck_`
    confidences: Sequence[tuple[str, Floats]] = ()  # the same, for raised bottlenecks


class ExportedCondition(NamedTuple):
    """An active condition, for risks with the newest forecast."""

    kind: EventKind
    severity: Severity
    subject: Subject
    left: float | None = None
    left_low: float | None = None
    left_high: float | None = None
    probability: float | None = None  # of the predicted event; `None` for other conditions
    forecast_at: float | None = None  # Unix time of the forecast
    gpu_index: int | None = None  # the number of the subject's GPU on its host


class ConditionText(NamedTuple):
    """The words of an active warning or critical condition. They change rarely, because each text is a new series."""

    kind: EventKind
    severity: Severity
    subject: Subject
    gpu_index: int | None
    because: str
    confidence: str  # "93 %"


class AdviceFigure(NamedTuple):
    """Active advice for a host or a run."""

    host: str
    run: str
    rule: str
    gain_low: float | None
    gain_high: float | None


class RunFigure(NamedTuple):
    """Figures of a run over all its ranks; `None` is unknown."""

    run: str
    ranks: int | None = None
    median_seconds: float | None = None
    slowest_seconds: float | None = None
    left: float | None = None
    left_low: float | None = None
    left_high: float | None = None
    gpus: int | None = None
    started: float | None = None  # Unix time
    source: str = ""
    user: str = ""  # if its processes have one user
    last_checkpoint: float | None = None  # Unix time
    flops_per_token: float | None = None  # as the training declares it
    peak_flops: float | None = None  # of its GPUs together, by their data sheets


class WasteFigures(NamedTuple):
    """GPU seconds by cause: along `hosts` × `causes`, and (run, cause, seconds)."""

    causes: Sequence[str]
    hosts: Sequence[str]
    seconds: Floats
    runs: Sequence[tuple[str, str, float]]


class XidTime(NamedTuple):
    """The time of the driver's last report of an error of a GPU, in Unix time."""

    host: str
    gpu: str
    code: int
    seconds: float


class Price(NamedTuple):
    """The price of one GPU hour."""

    amount: float
    currency: str


def price_of(settings: WasteSettings) -> Price | None:
    """Return the price of the settings, or `None`."""
    return Price(settings.price_per_gpu_hour, settings.currency) if settings.price_per_gpu_hour > 0 else None


NO_SCORES = Scores((), (), ())
NO_WASTE = WasteFigures((), (), np.zeros((0, 0)), ())


class DiagnosisSnapshot(NamedTuple):
    """All results of the diagnosis that are exported."""

    scores: Scores = NO_SCORES
    primary: Sequence[tuple[str, str]] = ()  # (host, bottleneck)
    explained: Sequence[tuple[str, str]] = ()  # of one host: bottleneck, kind that explains it
    active: Sequence[Sequence[ExportedCondition]] = ()  # in groups; an unchanged group is the same object
    held_risks: Sequence[ExportedCondition] = ()  # forecasts whose condition was cleared a moment ago
    texts: Sequence[ConditionText] = ()
    events: Sequence[Event] = ()  # of one host: the same conditions with current values
    advice: Sequence[AdviceFigure] = ()
    runs: Sequence[RunFigure] = ()
    waste: WasteFigures = NO_WASTE
    xids: Sequence[XidTime] = ()
    price: Price | None = None
    adjustments: AdjustmentFigures = AdjustmentFigures()
