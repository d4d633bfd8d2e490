"""A complete, runnable set of numbers, with what it will take and which bounds it misses."""

from msgspec import Struct

from flyball_planner.interval import Interval


class ModelNumbers(Struct, frozen=True):
    """The transformer that is trained."""

    layers: int
    hidden: int
    heads: int
    ffn: int
    vocabulary: int
    parameters: int


class TrainingNumbers(Struct, frozen=True):
    """How it is trained."""

    sequence: int
    micro_batch: int
    accumulation: int
    global_batch: int
    tokens: int
    tokens_per_parameter: float
    steps: int
    warm_up_steps: int
    optimizer: str
    learning_rate: float
    last_learning_rate: float
    weight_decay: float
    gradient_clip: float
    precision: str
    attention: str
    compiled: bool
    checkpointing: str
    sharding: str
    checkpoint_interval_seconds: float
    pause_seconds_per_step: float  # so that the mean power stays below its bound
    loader_workers: int
    prefetch: int


class Expected(Struct, frozen=True):
    """What the run will take."""

    memory_bytes: Interval  # of one device, as the driver shows it
    memory_share: float
    memory_ceiling_share: float
    seconds: Interval
    time_human: str
    tokens_per_second: float
    power_watts: float | None  # the mean of one device, pauses included
    power_share: float | None  # of its printed power


class Missed(Struct, frozen=True):
    """A bound that this machine or this model cannot hold."""

    bound: str
    wanted: str
    reached: str
    because: str


class Configuration(Struct, frozen=True):
    """One of the three."""

    name: str
    purpose: str
    device: str
    devices: int
    family: str
    model: ModelNumbers
    training: TrainingNumbers
    expected: Expected
    missed: tuple[Missed, ...]
    settings: tuple[tuple[str, str], ...]  # environment and torch settings
    notes: tuple[str, ...]
    fallbacks: tuple[str, ...]
    monitoring: tuple[str, ...]
    warnings: tuple[str, ...]
    specification: str  # YAML: flyball plan takes it
