"""The settings of a training that do not depend on the layout: batch, sequence, optimizer, precision and method."""

from enum import StrEnum

from msgspec import Struct, field

from flyball_planner.precision import PRECISIONS, Precision
from flyball_planner.quantisation import NF4, Quantisation


class Method(StrEnum):
    """The weights that are trained: all, or only added ones."""

    FULL = "full"
    LORA = "lora"
    QLORA = "qlora"  # LoRA over 4-bit weights
    DORA = "dora"  # LoRA, and a trained length of each column (Liu et al., 2024)
    IA3 = "ia3"  # trained factors on keys, values and the inner feed-forward layer (Liu et al., 2022)
    PREFIX = "prefix"  # trained keys and values before those of each layer (Li & Liang, 2021)
    PROMPT = "prompt"  # trained embeddings before the sequence (Lester et al., 2021)
    BOTTLENECK = "bottleneck"  # two small layers after attention and feed-forward (Houlsby et al., 2019)


class Attention(StrEnum):
    """Implementations of attention: only the materialised one stores the matrix of scores."""

    FLASH = "flash"
    MATERIALISED = "materialised"


class Checkpointing(StrEnum):
    """The activations that are recomputed in the backward pass instead of stored."""

    NONE = "none"
    LIGHT = "light"  # recomputes norms, experts' activations and latent up-projections (Megatron's recompute modules)
    SELECTIVE = "selective"  # recomputes attention scores (Korthikanti et al., 2022), or every second product
    FULL = "full"  # stores only the input of each layer


class Sharding(StrEnum):
    """The states that data-parallel ranks share: FSDP is ZERO3, SHARD_GRAD_OP is ZERO2."""

    NONE = "none"
    ZERO1 = "zero1"
    ZERO2 = "zero2"
    ZERO3 = "zero3"


class Offload(StrEnum):
    """The data that are stored in the host's memory instead of the device's."""

    NONE = "none"
    OPTIMIZER = "optimizer"
    PARAMETERS = "parameters"  # and the optimizer's states
    ACTIVATIONS = "activations"


class Optimizer(Struct, frozen=True):
    """The memory that an optimizer needs for each trained parameter, permanently and during its step."""

    name: str
    state_bytes: float  # per parameter, with moments in fp32
    moments: int  # tensors of a parameter's shape; in pure 16-bit training they have the weights' format
    transient_bytes: float = 0.0  # per parameter, during the step
    in_backward: bool = False  # updates each weight when its gradient is ready, so gradients are never all stored
    paged: bool = False  # states may be moved to the host


class Lora(Struct, frozen=True):
    """Low-rank adaptation: its rank, and the matrices that it applies to."""

    rank: int = 8
    targets: tuple[str, ...] = ("q", "v")  # of q, k, v, o, gate, up, down


class Training(Struct, frozen=True):
    """Settings that are the same for every layout."""

    sequence: int  # tokens per sample; 1 if samples are not sequences
    global_batch: int  # samples per optimizer step over all devices
    optimizer: Optimizer
    precision: Precision = field(default_factory=lambda: PRECISIONS["bf16"])
    method: Method = Method.FULL
    lora: Lora | None = None
    attention: Attention = Attention.FLASH
    compiled: bool = False
    framework: str = "pytorch"  # pytorch, megatron or deepspeed: they store gradients and buffers differently
    fp32_gradients: bool = False  # accumulated in fp32, as Megatron does
    fused_loss: bool = False  # chunked or fused cross entropy never stores all logits
    compiled_loss: bool = False  # casts, softmax and loss are one kernel, without logits in fp32
    quantisation: Quantisation | None = None  # of frozen weights; QLoRA without it: NF4 with double quantisation
    gradients_persist: bool = False  # between steps: zero_grad without set_to_none, torch's default before 2.0
    virtual_tokens: int = 20  # of prefix and prompt tuning (the default of LitGPT and of PEFT's examples)
    bottleneck_width: int = 64  # of bottleneck adapters (Houlsby et al., 2019: 8 to 256)
    gradients_unsharded: bool = False  # unsharded gradients until a step's last micro-batch (FSDP's no_sync)
    separate_ends: bool = False  # embedding and output are separate FSDP units, not parts of the root
    cached_tokens: int = 0  # per device, whose keys and values are stored for sampling between steps
    samples: int = 0  # in total; 0: one step

    @property
    def frozen_format(self) -> Quantisation | None:
        """Return how frozen weights are stored in few bits; None if they are not, or if all weights are trained."""
        if self.method is Method.FULL:
            return None
        return self.quantisation or (NF4 if self.method is Method.QLORA else None)
