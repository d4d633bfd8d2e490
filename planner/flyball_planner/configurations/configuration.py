"""A complete configuration that can be run, with its estimates and the bounds that it misses."""

from msgspec import Struct

from flyball_planner.interval import Interval


class ModelNumbers(Struct, frozen=True):
    """The dimensions of the transformer."""

    layers: int
    hidden: int
    heads: int
    ffn: int
    vocabulary: int
    parameters: int


class TrainingNumbers(Struct, frozen=True):
    """The settings of the training."""

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
    pause_seconds_per_step: float  # keeps the mean power below its bound
    loader_workers: int
    prefetch: int


class Expected(Struct, frozen=True):
    """The estimates for the run."""

    memory_bytes: Interval  # per device, as reported by the driver
    memory_share: float
    memory_ceiling_share: float
    seconds: Interval
    time_human: str
    tokens_per_second: float
    power_watts: float | None  # mean of one device, including pauses
    power_share: float | None  # of its nominal power


class Missed(Struct, frozen=True):
    """A bound that this machine or model cannot meet."""

    bound: str
    wanted: str
    reached: str
    because: str


class Configuration(Struct, frozen=True):
    """A conservative, balanced or extreme configuration."""

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
    specification: str  # YAML for flyball plan
