"""The result of a judgement: errors by suite and metric, and skipped rows with reasons."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from flyball_reports.errors import InputError

EXACT = "exact"  # a count or a published formula, without fitting
COLD = "cold"  # the suite was left out of all fits
CALIBRATED = "calibrated"  # a few rows of the suite were given


class Unsuited(InputError):
    """A row that cannot be judged, because it is incomplete or has nothing to compare with."""


class Result(Struct, frozen=True):
    """The accuracy of one metric of one suite. Errors are ratios; missing values do not apply."""

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
    details: Mapping[str, float] = field(default_factory=dict)  # specific to this metric


class Skipped(Struct, frozen=True):
    """A row that was not judged, with the reason."""

    file: str
    suite: str
    id: str
    metric: str
    reason: str


class Miss(Struct, frozen=True):
    """A row with its prediction, to list the worst ones."""

    file: str
    suite: str
    id: str
    metric: str
    mode: str
    measured: float
    predicted: float
    error: float  # predicted ÷ measured − 1


class Judgement(Struct, frozen=True):
    """The findings of one judge; those of several judges are added."""

    results: Sequence[Result] = ()
    ineligible: Sequence[Skipped] = ()
    unpredicted: Sequence[Skipped] = ()  # eligible, but the planner failed
    worst: Sequence[Miss] = ()

    def __add__(self, other: "Judgement") -> "Judgement":
        return Judgement(
            (*self.results, *other.results),
            (*self.ineligible, *other.ineligible),
            (*self.unpredicted, *other.unpredicted),
            (*self.worst, *other.worst),
        )
