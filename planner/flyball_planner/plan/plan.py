"""What a plan says. These records are at once the result in Python and the JSON document, so their names are a
contract: fields are added, never renamed, within one major `schema_version`."""

from msgspec import Struct, field

from flyball_planner.interval import Interval

SCHEMA_VERSION = "1.1"


class Part(Struct, frozen=True):
    """One named part of a whole."""

    name: str
    amount: Interval


class Count(Struct, frozen=True):
    """How many parameters one place of a model holds."""

    name: str
    parameters: int


class ModelSection(Struct, frozen=True):
    """What is trained."""

    name: str
    family: str
    implementation: str
    parameters: int
    active_parameters: int  # that one token or sample passes
    trainable_parameters: int
    parameter_parts: tuple[Count, ...]
    forward_flops_per_sample: float
    training_flops_per_sample: float  # forward and backward, nothing computed twice
    tokens_per_sample: int  # 1 where a sample is no sequence
    tokens_per_parameter: float | None  # of the whole run; 20 is the compute-optimal budget of Hoffmann et al., 2022


class TrainingSection(Struct, frozen=True):
    """How it is trained."""

    global_batch: int
    sequence: int
    samples: int
    tokens: int
    steps: int
    optimizer: str
    precision: str
    method: str
    attention: str
    framework: str
    compiled: bool


class HardwareSection(Struct, frozen=True):
    """What it runs on."""

    device: str
    kind: str
    vendor: str
    architecture: str
    devices: int
    nodes: int
    devices_per_node: int
    memory_bytes_per_device: float
    memory_bytes_per_second: float
    flops_per_second: float  # dense, in the format that is multiplied in
    format: str
    power_watts: float | None
    within_node: str
    between_nodes: str
    confidence: str
    source: str
    note: str = ""  # what else the catalogue knows of the device


class LayoutSection(Struct, frozen=True):
    """How the training is spread."""

    data: int
    tensor: int
    pipeline: int
    interleave: int
    context: int
    expert: int
    micro_batch: int
    accumulation: int  # micro-batches of a replica for one optimizer step
    sharding: str
    sequence_parallel: bool
    checkpointing: str
    offload: str
    chosen_by: str  # "specification" or "search"
    words: str


class MemorySection(Struct, frozen=True):
    """How much memory the fullest device takes."""

    parts: tuple[Part, ...]  # bytes
    allocated_bytes: Interval
    reserved_bytes: Interval
    driver_bytes: Interval  # as nvidia-smi shows it; this must fit
    capacity_bytes: float
    utilization_percent: float  # of the capacity, the middle of what the driver shows
    verdict: str  # fits, uncertain, does not fit
    headroom_bytes: float  # the capacity less the upper end
    peak_stage: str  # of the pipeline, that holds most
    peak_moment: str  # of a step, at which it comes
    best_single_change: str | None
    host_bytes: float | None = None


class RooflinePoint(Struct, frozen=True):
    """Operators of one name under the roofline."""

    name: str
    kind: str
    flops_per_byte: float
    flops_per_second: float
    time_share: float


class ComputationSection(Struct, frozen=True):
    """How long it takes, and why."""

    training_flops: float  # of the whole run
    estimated_train_seconds: Interval
    estimated_train_time_human: str
    step_seconds: Interval
    step_parts: tuple[Part, ...]  # seconds
    samples_per_second: float
    tokens_per_second: float
    mfu_percent: float | None
    hfu_percent: float | None
    goodput_percent: float
    bottleneck: str  # memory-bound, compute-bound, communication-bound, overhead-bound …
    arithmetic_intensity_flops_per_byte: float
    ridge_flops_per_byte: float  # above it, arithmetic is the limit
    roofline: tuple[RooflinePoint, ...]
    energy_kilowatt_hours: Interval | None
    average_power_watts: float | None  # of one device


class ScalingRow(Struct, frozen=True):
    """The same training on another number of devices, or with another batch."""

    devices: int
    global_batch: int
    layout: str
    step_seconds: Interval
    samples_per_second: float
    efficiency: float  # throughput a device against the first row's
    train_seconds: Interval
    memory_percent: float
    verdict: str
    cost_usd: float | None
    estimated_train_time_human: str


class Alternative(Struct, frozen=True):
    """Another layout on the same devices."""

    words: str
    step_seconds: Interval
    memory_percent: float
    verdict: str


class OfferRow(Struct, frozen=True):
    """What one provider would charge."""

    provider: str
    instance: str
    region: str
    as_of: str
    instances: int
    devices: int  # that are paid for
    usd_per_hour: float | None  # of one instance on demand; None: it is offered on spot alone
    spot_usd_per_hour: float | None
    cost_usd: Interval | None
    spot_cost_usd: Interval | None
    source: str
    caveat: str = ""  # why one may pay something else


class CostSection(Struct, frozen=True):
    """What the whole run costs."""

    device_hours: Interval
    cost_usd: Interval | None  # at the price that was given, or the cheapest known
    price_basis: str
    offers: tuple[OfferRow, ...]


class LoadingSection(Struct, frozen=True):
    """How the data reach the devices; figures are of one node."""

    needed_samples_per_second: float  # so that no step waits
    delivered_samples_per_second: float
    bound_by: str  # storage, preparing, or the loader as measured
    stages: tuple["Rate", ...]  # what each could deliver
    overlapped: bool  # samples are loaded while others are computed
    wait_seconds: float  # of a step
    wait_percent: float  # of a step
    workers: float  # processes that prepare samples at once


class Rate(Struct, frozen=True):
    """What one stage of the loading delivers."""

    name: str
    samples_per_second: float


class LessonSection(Struct, frozen=True):
    """What measured runs changed of one estimate."""

    runs: int
    factor: Interval  # estimated now over estimated without them
    width_before_percent: float  # of the 90 % interval, as a share of its middle
    width_after_percent: float


class CalibrationSection(Struct, frozen=True):
    """Which measured runs narrowed the estimates, and by how much."""

    source: str
    kind: str  # of model and device that is learned of
    step: LessonSection | None  # None: no step of this kind was measured
    memory: LessonSection | None
    refused: int  # runs that could not be used
    others: tuple[str, ...]  # kinds of runs that teach nothing here


class Recommendation(Struct, frozen=True):
    """What to change, why, and what it should bring."""

    change: str
    because: str
    effect: str


class Plan(Struct, frozen=True):
    """Everything that is known before the run."""

    title: str
    model: ModelSection
    training: TrainingSection
    hardware: HardwareSection
    layout: LayoutSection
    memory: MemorySection
    computation: ComputationSection
    cost: CostSection
    scaling_devices: tuple[ScalingRow, ...] = ()
    scaling_batches: tuple[ScalingRow, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    recommendations: tuple[Recommendation, ...] = ()
    assumptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    loading: LoadingSection | None = None  # None: how the data arrive is not told
    calibration: CalibrationSection | None = None  # None: no measured runs are given
    schema_version: str = field(default=SCHEMA_VERSION)
