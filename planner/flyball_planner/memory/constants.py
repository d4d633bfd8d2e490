"""The few numbers of the memory model that no configuration tells, each with its source."""

from msgspec import Struct

MIB = 2.0**20
GIB = 2.0**30


class Constants(Struct, frozen=True):
    """What frameworks and drivers add; replaced as a whole where a suite is left out or calibrated."""

    logit_bytes: float = 12.0
    """As the backward pass begins a logit's log-softmax and two gradients stand in fp32: torch's cross entropy over
    logits that were converted to fp32."""

    chunked_logit_bytes: float = 3.0
    """With the loss taken in eight chunks: the 16-bit logits, and one chunk in fp32 with its log-softmax (torchtune's
    CEWithChunkedOutputLoss)."""

    compiled_logit_bytes: float = 4.0
    """With the loss compiled: the 16-bit logits and their gradients; what is in fp32 stays within one kernel."""

    quantised_copies: float = 1.75
    """How often the output of a product over 4-bit weights is kept once more; fitted on litgpt-config-hub, whose QLoRA
    runs keep more than its LoRA runs."""

    quantised_spread: float = 0.3
    """Of what such layers keep, how far it may lie off its estimate; libraries of 4-bit products differ."""

    activations_factor: float = 1.0
    """Of all that the forward pass keeps; found by calibration."""

    whole_factor: float = 1.0
    """Of all tensors together; found by calibration."""

    spread_factor: float = 1.0
    """Of the intervals' widths; found by calibration."""

    nf4_bytes: float = 0.5 + 0.127 / 8
    """A 4-bit weight and its share of doubly quantised scales: 0.127 bits (QLoRA, Dettmers et al., 2023, §3)."""

    context_bytes: float = 1.0 * GIB
    """CUDA context with its kernels: on an A100 0.47 GiB (PyTorch 2.1, lazily) to 1.78 GiB (1.10); ml-engineering."""

    workspace_bytes: float = 8.125 * MIB
    """cuBLAS's own (PyTorch's default CUBLAS_WORKSPACE_CONFIG, :4096:2:16:8)."""

    library_bytes: float = 1.5 * GIB
    """What the first collective adds on a device (ml-engineering: a first barrier takes about 1.5 GiB)."""

    bucket_bytes: float = 2 * 5e8 * 2
    """DeepSpeed's reduce and all-gather buckets: by default 5e8 numbers of 16 bits each (its configuration's
    reference)."""

    allocator_share: float = 0.125
    """Of all that comes and goes: blocks that the caching allocator holds beyond what is in use; fitted on torchtitan
    and bigscience-prequel, which report reserved memory."""

    fragmentation_share: float = 0.15
    """Of all that comes and goes, upper bound only: 15-20 % is the usual rule for unevenly sized blocks."""

    spike_share: float = 0.10
    """Of all that comes and goes, upper bound only: batches longer than usual, libraries' workspaces."""

    visible_share: float = 0.985
    """Of a card's memory, what its driver shows, where the catalogue does not know: 81,559 of 81,920 MiB of an H100,
    23,028 of 24,576 MiB of an A10G with error correction."""


CONSTANTS = Constants()
