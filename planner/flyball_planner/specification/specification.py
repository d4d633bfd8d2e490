"""A specification whose names are resolved: everything that a plan follows from."""

from msgspec import Struct

from flyball_planner.calibration.measured import MeasuredRuns
from flyball_planner.catalogue.hardware import Machine
from flyball_planner.layouts.columns import Layout
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.timing.loading import Loading
from flyball_planner.training import Training


class Price(Struct, frozen=True):
    """At which price the run is reckoned."""

    usd_per_device_hour: float | None = None  # None: the cheapest known offer
    provider: str = ""
    region: str = ""
    spot: bool = False


class ReportChoice(Struct, frozen=True):
    """How the report is written where nobody says otherwise."""

    format: str = ""
    output: str = ""
    verbose: bool = False


class Specification(Struct, frozen=True):
    """What is planned."""

    title: str
    model: str
    subject: TransformerShape | ModelCost
    training: Training  # `samples` are those of the whole run
    machine: Machine
    network: str = ""  # between nodes, as it was said; for other numbers of devices
    layout: Layout | None = None  # None: the fastest that fits is searched
    device_counts: tuple[int, ...] = ()
    batch_sizes: tuple[int, ...] = ()
    price: Price = Price()
    loading: Loading | None = None  # None: the devices never wait for data
    measured: MeasuredRuns | None = None  # what narrows the estimates
    report: ReportChoice = ReportChoice()
    assumptions: tuple[str, ...] = ()
