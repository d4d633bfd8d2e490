"""A specification with all names resolved."""

from msgspec import Struct

from flyball_planner.calibration.measured_runs import MeasuredRuns
from flyball_planner.catalogue.hardware import TrainingMachine
from flyball_planner.layout_search.candidates import Choices
from flyball_planner.layouts.layout import ParallelLayout
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.timing.loading import Loading
from flyball_planner.training import Training


class PriceChoice(Struct, frozen=True):
    """The price to use."""

    usd_per_device_hour: float | None = None  # None: the cheapest known offer
    provider: str = ""
    region: str = ""
    spot: bool = False


class InferenceChoice(Struct, frozen=True):
    """The use of the trained model."""

    batch_size: int | None = None  # requests at the same time
    context: int | None = None  # tokens of a request and its answer


class ReportChoice(Struct, frozen=True):
    """Defaults of the report that the command line may override."""

    format: str = ""
    output: str = ""
    verbose: bool = False
    plots: bool = True
    recommendations: bool = True


class Specification(Struct, frozen=True):
    """Everything that a plan depends on."""

    title: str
    model: str
    subject: TransformerShape | ModelCost
    training: Training  # `samples` is for the complete run
    machine: TrainingMachine
    network: str = ""  # between nodes, as specified; for other numbers of devices
    layout: ParallelLayout | None = None  # None: search for the fastest that fits
    choices: Choices | None = None  # restrictions of that search; beside a layout: the search of what it leaves out
    device_counts: tuple[int, ...] = ()
    batch_sizes: tuple[int, ...] = ()
    price: PriceChoice = PriceChoice()
    loading: Loading | None = None  # None: steps never wait for data
    measured: MeasuredRuns | None = None  # runs that correct the estimates
    report: ReportChoice = ReportChoice()
    learning_rate: float | None = None  # None: as recommended
    inference: InferenceChoice | None = None  # None: not specified
    assumptions: tuple[str, ...] = ()
