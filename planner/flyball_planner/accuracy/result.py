"""What a judgement says: one line of errors a suite and metric, and the rows that were not judged, with the reason."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from flyball_reports.errors import InputError

EXACT = "exact"  # a count or a published formula: nothing is fitted
COLD = "cold"  # the suite was left out of whatever was fitted
CALIBRATED = "calibrated"  # a few rows of the suite were given


class Unsuited(InputError):
    """A row cannot be predicted by anyone: it does not say enough, or shows nothing to compare with."""


class Result(Struct, frozen=True):
    """How well one metric of one suite is predicted. Errors are ratios; what does not apply is missing."""

    file: str
    suite: str
    metric: str
    mode: str
    eligible: int
    predicted: int
    median_ape: float | None = None
    mean_ape: float | None = None
    bias: float | None = None
    coverage90: float | None = None
    width90: float | None = None
    rank_correlation: float | None = None
    baseline_ape: float | None = None
    details: Mapping[str, float] = field(default_factory=dict)  # what only this metric has


class Skipped(Struct, frozen=True):
    """A row that was not judged, and why."""

    file: str
    suite: str
    id: str
    metric: str
    reason: str


class Miss(Struct, frozen=True):
    """A row beside its prediction; the worst are shown."""

    file: str
    suite: str
    id: str
    metric: str
    mode: str
    measured: float
    predicted: float
    error: float  # predicted ÷ measured − 1


class Findings(Struct, frozen=True):
    """What one judge found; those of several are added."""

    results: Sequence[Result] = ()
    ineligible: Sequence[Skipped] = ()
    unpredicted: Sequence[Skipped] = ()  # eligible, yet the planner failed
    worst: Sequence[Miss] = ()

    def __add__(self, other: "Findings") -> "Findings":
        return Findings(
            (*self.results, *other.results),
            (*self.ineligible, *other.ineligible),
            (*self.unpredicted, *other.unpredicted),
            (*self.worst, *other.worst),
        )
