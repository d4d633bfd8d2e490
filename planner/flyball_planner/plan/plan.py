"""The sections of a plan. They are the result in Python and the JSON document at once, so their names are a contract:
within one major `schema_version`, fields are added but never renamed."""

from msgspec import Struct, field

from flyball_planner.interval import Interval
from flyball_planner.models.complexity import Complexity

SCHEMA_VERSION = "1.2"


class NamedAmount(Struct, frozen=True):
    """A named part of a total, in the unit of its list: bytes of memory, or seconds of a step."""

    name: str
    amount: Interval


class Count(Struct, frozen=True):
    """The number of parameters in one part of a model."""

    name: str
    parameters: int


class ModelSection(Struct, frozen=True):
    """The model: its size, and the FLOPs of a sample."""

    name: str
    family: str
    implementation: str
    parameters: int
    active_parameters: int  # used by one token or sample
    trainable_parameters: int
    parameter_parts: tuple[Count, ...]
    forward_flops_per_sample: float
    training_flops_per_sample: float  # forward and backward pass, without recomputation
    tokens_per_sample: int  # 1 if samples are not sequences
    tokens_per_parameter: float | None  # over the complete run; 20 is compute-optimal (Hoffmann et al., 2022)
    inference_flops_per_sample: float | None = None  # of one prediction; for trees, their comparisons
    complexity: Complexity | None = None  # None: unknown, as for traced modules


class TrainingSection(Struct, frozen=True):
    """The settings of the training: batch, length, optimizer and number format."""

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
    learning_rate: float | None = None  # None: the model is not trained in gradient steps
    learning_rate_basis: str = ""  # "as specified", or "recommended: …" with the reason


class HardwareSection(Struct, frozen=True):
    """The devices, their links and their peak rates."""

    device: str
    kind: str
    vendor: str
    architecture: str
    devices: int
    nodes: int
    devices_per_node: int
    memory_bytes_per_device: float
    memory_bytes_per_second: float
    flops_per_second: float  # dense, in the format of the arithmetic
    format: str
    power_watts: float | None
    within_node: str
    between_nodes: str
    confidence: str
    source: str
    note: str = ""  # the catalogue's note


class LayoutSection(Struct, frozen=True):
    """The layout: how the training is distributed over devices."""

    data: int
    tensor: int
    pipeline: int
    interleave: int
    context: int
    expert: int
    micro_batch: int
    accumulation: int  # micro-batches per replica and optimizer step
    sharding: str
    sequence_parallel: bool
    checkpointing: str
    offload: str
    chosen_by: str  # "specification", "search", or "completion" of a layout that the specification states in part
    words: str


class MemorySection(Struct, frozen=True):
    """The memory of the fullest device, in bytes."""

    parts: tuple[NamedAmount, ...]  # bytes
    allocated_bytes: Interval
    reserved_bytes: Interval
    driver_bytes: Interval  # as nvidia-smi reports it; this must fit
    capacity_bytes: float
    utilization_percent: float  # middle of the driver's figure, of the capacity
    verdict: str  # fits, uncertain, does not fit
    headroom_bytes: float  # capacity minus the upper end
    peak_stage: str  # pipeline stage with the peak
    peak_moment: str  # moment of the step with the peak
    best_single_change: str | None
    host_bytes: float | None = None  # that one host stores in place of its devices; see also the section `host`


class RooflinePoint(Struct, frozen=True):
    """Operators of one name in the roofline: their best speed on the device, and their share of the time."""

    name: str
    kind: str
    flops_per_byte: float
    flops_per_second: float
    time_share: float


class ComputationSection(Struct, frozen=True):
    """The time of the training in seconds, and what limits it."""

    training_flops: float  # of the complete run
    estimated_train_seconds: Interval  # from start to end, as complete runs go
    estimated_train_time_human: str
    step_seconds: Interval
    step_parts: tuple[NamedAmount, ...]  # seconds
    samples_per_second: float
    tokens_per_second: float
    mfu_percent: float | None
    hfu_percent: float | None
    goodput_percent: float  # share of the run that its steps take by themselves
    bottleneck: str  # memory-bound, compute-bound, communication-bound, overhead-bound, latency-bound …
    arithmetic_intensity_flops_per_byte: float
    ridge_flops_per_byte: float  # above it, operators are compute-bound
    roofline: tuple[RooflinePoint, ...]
    energy_kilowatt_hours: Interval | None
    average_power_watts: float | None  # per device
    steps_alone_seconds: Interval | None = None  # the steps without anything between them; None: a single fit
    overrun: float | None = (
        None  # how many times longer published runs take than their steps and the known work between
    )
    efficiency: float | None = None  # share of the peak rate that matrix products, or a classical model, reach
    efficiency_basis: str = ""  # "as specified" or "estimated"
    wide_mfu_percent: float | None = None  # relative to the 16-bit peak, where narrower products make it differ


class ScalingRow(Struct, frozen=True):
    """The same training on another number of devices, or with another batch."""

    devices: int
    global_batch: int
    layout: str
    step_seconds: Interval
    samples_per_second: float
    efficiency: float  # throughput per device relative to the first row
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
    """The cost of the complete run with one offer of a provider, in US dollars."""

    provider: str
    instance: str
    region: str
    as_of: str
    instances: int
    devices: int  # that are paid
    usd_per_hour: float | None  # of one instance on demand; None: only offered on spot
    spot_usd_per_hour: float | None
    cost_usd: Interval | None
    spot_cost_usd: Interval | None
    source: str
    caveat: str = ""  # why the actual price may differ


class CostSection(Struct, frozen=True):
    """The cost of the complete run, in US dollars."""

    device_hours: Interval
    cost_usd: Interval | None  # at the given price or with the cheapest known offer
    price_basis: str
    offers: tuple[OfferRow, ...]


class LoadingSection(Struct, frozen=True):
    """Data loading, in samples per second and node."""

    needed_samples_per_second: float  # rate at which no step waits
    delivered_samples_per_second: float
    bound_by: str  # the slowest stage: storage, preparing or measured loader
    stages: tuple["Rate", ...]  # the rate of each stage
    overlapped: bool  # samples are loaded during computation
    wait_seconds: float  # per step
    wait_percent: float  # of a step
    workers: float  # processes that prepare samples at the same time


class Rate(Struct, frozen=True):
    """The rate of one stage of data loading, in samples per second and node."""

    name: str
    samples_per_second: float


class GenerationSection(Struct, frozen=True):
    """Generation by a decoder: the prompt in one pass, then one token of each sequence at a time."""

    sequences: int
    context_tokens: int  # of each sequence, prompt included
    prefill_seconds: Interval  # the first pass over a prompt as long as the context
    seconds_per_token: Interval  # by plain PyTorch, whose host launches every kernel
    tokens_per_second: float  # of all sequences
    limited_by: str  # memory bandwidth or kernel launches
    weight_bytes: float
    key_value_cache_bytes: float  # of all sequences at the full context
    key_value_cache_bytes_per_token: float
    memory_bytes_per_device: Interval
    most_sequences: int  # that fit at once at this context; 0: not even one
    engine_seconds_per_token: Interval | None = None  # by an engine with CUDA graphs


class InferenceSection(Struct, frozen=True):
    """Predictions by the trained model, for example in an evaluation."""

    devices: int  # the fewest that hold the weights
    flops_per_sample: float  # of the forward pass; for trees, comparisons
    seconds_per_sample: Interval  # alone
    batch: int  # samples that are passed together
    seconds_per_batch: Interval
    samples_per_second: float  # of such batches
    generation: GenerationSection | None = None  # None: the model does not generate


class HostMemorySection(Struct, frozen=True):
    """The memory that one host needs, in bytes."""

    parts: tuple[NamedAmount, ...]
    needed_bytes: Interval
    capacity_bytes: float | None  # None: not specified
    verdict: str  # fits, uncertain, does not fit; empty if the capacity is not specified


class CorrectionSection(Struct, frozen=True):
    """The correction of one estimate (step or memory) by measured runs."""

    runs: int
    factor: Interval  # estimate with these runs over the estimate without them
    width_before_percent: float  # of the 90 % interval, relative to its middle
    width_after_percent: float


class CalibrationSection(Struct, frozen=True):
    """The measured runs that corrected the estimates, and their effect."""

    source: str
    kind: str  # model and device that the runs apply to
    step: CorrectionSection | None  # None: no step of this kind was measured
    memory: CorrectionSection | None
    refused: int  # runs that could not be used
    others: tuple[str, ...]  # kinds of runs that do not apply


class PlanRecommendation(Struct, frozen=True):
    """A recommended change, with its reason and its estimated effect."""

    change: str
    because: str
    effect: str


class Plan(Struct, frozen=True):
    """A plan: the estimated memory, time and cost of a training. Bytes, seconds, FLOPs and dollars are base units."""

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
    recommendations: tuple[PlanRecommendation, ...] = ()
    assumptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    loading: LoadingSection | None = None  # None: nothing is known about data loading
    calibration: CalibrationSection | None = None  # None: no measured runs were given
    inference: InferenceSection | None = None  # None: no device can hold the model
    host: HostMemorySection | None = None
    schema_version: str = field(default=SCHEMA_VERSION)
