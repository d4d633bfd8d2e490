"""How a model is trained, apart from how it is spread: batch, sequence, optimizer, precision, what is trained."""

from enum import StrEnum

from msgspec import Struct, field

from flyball_planner.precision import PRECISIONS, Precision


class Method(StrEnum):
    """Which weights are trained."""

    FULL = "full"
    LORA = "lora"
    QLORA = "qlora"  # the same over weights of four bits


class Attention(StrEnum):
    """Whether the matrix of scores ever lies in memory."""

    FLASH = "flash"
    MATERIALISED = "materialised"


class Checkpointing(StrEnum):
    """Which activations are computed again in the backward pass instead of being kept."""

    NONE = "none"
    SELECTIVE = "selective"  # attention's scores (Korthikanti et al., 2022), or every second product
    FULL = "full"  # only what enters a layer is kept


class Sharding(StrEnum):
    """What data-parallel ranks divide among themselves; FSDP is ZERO3, SHARD_GRAD_OP is ZERO2."""

    NONE = "none"
    ZERO1 = "zero1"
    ZERO2 = "zero2"
    ZERO3 = "zero3"


class Offload(StrEnum):
    """What lies in the host's memory instead of the device's."""

    NONE = "none"
    OPTIMIZER = "optimizer"
    PARAMETERS = "parameters"  # and the optimizer
    ACTIVATIONS = "activations"


class Optimizer(Struct, frozen=True):
    """What an optimizer keeps for each trained parameter, and what it needs for a moment while it steps."""

    name: str
    state_bytes: float  # a parameter, where moments are in fp32
    moments: int  # tensors of a parameter's shape; follow the weights' format under pure 16-bit training
    transient_bytes: float = 0.0  # a parameter, during the step
    in_backward: bool = False  # steps each weight as soon as its gradient is there: gradients never stand together
    paged: bool = False  # states may be moved to the host


class Lora(Struct, frozen=True):
    """Low-rank additions: their rank, and which matrices have them."""

    rank: int = 8
    targets: tuple[str, ...] = ("q", "v")  # of q, k, v, o, gate, up, down


class Training(Struct, frozen=True):
    """What is the same for every layout."""

    sequence: int  # tokens of a sample; 1 where samples are no sequences
    global_batch: int  # samples an optimizer step, over all devices
    optimizer: Optimizer
    precision: Precision = field(default_factory=lambda: PRECISIONS["bf16"])
    method: Method = Method.FULL
    lora: Lora | None = None
    attention: Attention = Attention.FLASH
    compiled: bool = False
    framework: str = "pytorch"  # pytorch, megatron, deepspeed: they keep gradients and buffers differently
    fp32_gradients: bool = False  # accumulated in fp32, as Megatron does
    fused_loss: bool = False  # chunked or fused cross entropy: logits never stand whole
    compiled_loss: bool = False  # casts, softmax and loss are one kernel: logits never stand in fp32
    quantised_outputs_kept: bool = True  # products over 4-bit weights keep more than the weights; torchao's do not
    gradients_whole: bool = False  # of sharded weights, until a step's last micro-batch (FSDP's no_sync)
    ends_apart: bool = False  # fully sharded embedding and output are units of their own, not the root's
    cached_tokens: int = 0  # of a device, whose keys and values are kept for sampling between steps
    samples: int = 0  # in all; 0: one step
