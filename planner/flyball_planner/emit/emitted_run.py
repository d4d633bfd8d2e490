"""Everything about a training that the configuration of a framework can express."""

from msgspec import Struct

from flyball_planner.catalogue.hardware import DeviceKind, TrainingMachine
from flyball_planner.layouts.layout import ParallelLayout
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.precision import NumberFormat, Precision
from flyball_planner.training import Offload, Sharding

KEPT_CHECKPOINTS = 2  # the last one may be incomplete; more than two of a large model fill the disk
EPSILON = 1e-8  # of GPT-3 (Brown et al., 2020, appendix B), and torch's default


class LearningSchedule(Struct, frozen=True):
    """The optimizer and its learning rate: a linear warm-up, then a cosine down to the last rate."""

    optimizer: str
    learning_rate: float
    learning_rate_source: str  # "as specified", or why this one
    last_learning_rate: float
    warm_up_steps: int
    weight_decay: float
    gradient_clip: float
    betas: tuple[float, float]

    @property
    def last_share(self) -> float:
        """Return the last learning rate as a share of the highest one."""
        return self.last_learning_rate / self.learning_rate


class EmittedRun(Struct, frozen=True):
    """The settings of a training, for the files of any framework. None is not part of the plan."""

    title: str
    model: str
    parameters: int
    shape: TransformerShape | None  # None: not a transformer
    machine: TrainingMachine
    layout: ParallelLayout
    accumulation: int
    global_batch: int
    sequence: int | None  # None: samples are not sequences
    steps: int
    schedule: LearningSchedule
    precision: Precision
    compiled: bool
    checkpoint_steps: int  # between two checkpoints
    step_seconds: float
    framework: str = "pytorch"
    adapter: str = ""  # in words; empty: all weights are trained
    published: bool = False  # the model is a published one, whose own files have more than its dimensions
    workers: int | None = None
    prefetch: int | None = None
    pause_seconds: float = 0.0  # after each step
    environment: tuple[tuple[str, str], ...] = ()

    @property
    def kind(self) -> DeviceKind:
        """Return the kind of the devices."""
        return self.machine.device.kind

    @property
    def compute(self) -> NumberFormat:
        """Return the format of the matrix products."""
        return self.precision.compute

    @property
    def mixed(self) -> bool:
        """Return True if weights are updated in fp32 and products are narrower."""
        return self.precision.master or self.precision.autocast

    @property
    def devices_a_node(self) -> int:
        """Return the processes of one node."""
        return min(self.machine.devices, self.machine.devices_a_node)

    @property
    def stage(self) -> int:
        """Return the stage of ZeRO, 0 without sharding."""
        return list(Sharding).index(self.layout.sharding)

    @property
    def offloads_states(self) -> bool:
        """Return True if optimizer states or weights are in the host's memory."""
        return self.layout.offload in {Offload.OPTIMIZER, Offload.PARAMETERS}

    @property
    def shard_ranks(self) -> int:
        """Return the ranks that share the states."""
        return self.layout.shard_group or self.layout.data
