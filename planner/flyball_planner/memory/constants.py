"""The constants of the memory model that no configuration states, each with its source."""

from msgspec import Struct

MIB = 2.0**20
GIB = 2.0**30


class Constants(Struct, frozen=True):
    """Constants of frameworks and drivers. A calibration, or a suite that is left out, replaces them all."""

    logit_bytes: float = 12.0
    """At the start of the backward pass, a logit's log-softmax and two gradients are in fp32: torch's cross entropy
    over logits that were converted to fp32."""

    chunked_logit_bytes: float = 3.0
    """With the loss in eight chunks: the 16-bit logits, and one chunk in fp32 with its log-softmax (torchtune's
    CEWithChunkedOutputLoss)."""

    compiled_logit_bytes: float = 4.0
    """With a compiled loss: the 16-bit logits and their gradients; fp32 values stay inside one kernel."""

    extra_inputs: float = 0.0
    """Further copies of the inputs of products over quantised weights; found by calibration. See `Quantisation`."""

    omitted_share: float = 0.012
    """Tensors that the parts leave out, as a share of their sum. Fitted: half the mean of the suites' medians."""

    whole_spread: float = 0.14
    """How far the sum may be off on each side in nine of ten cases, beside the uncertainty of each part: the scatter
    within and between suites. Fitted so that 88 % of the rows of the average suite are covered."""

    activations_factor: float = 1.0
    """Factor on everything that the forward pass stores; found by calibration."""

    total_factor: float = 1.0
    """Factor on all tensors together; found by calibration."""

    spread_factor: float = 1.0
    """Factor on the width of intervals; found by calibration."""

    context_bytes: float = 1.0 * GIB
    """The CUDA context with its kernels.

    On an A100: 0.47 GiB (PyTorch 2.1, lazy) to 1.78 GiB (1.10); ml-engineering.
    """

    workspace_bytes: float = 8.125 * MIB
    """cuBLAS workspace (PyTorch's default CUBLAS_WORKSPACE_CONFIG, :4096:2:16:8)."""

    library_bytes: float = 1.5 * GIB
    """Memory that the first collective adds on a device (ml-engineering: a first barrier takes about 1.5 GiB)."""

    bucket_bytes: float = 2 * 5e8 * 2
    """DeepSpeed's reduce and all-gather buckets: by default 5e8 numbers of 16 bits each (its configuration
    reference)."""

    allocator_share: float = 0.125
    """Share of short-lived tensors: blocks that the caching allocator holds beyond what is in use. Fitted on torchtitan
    and bigscience-prequel, which report reserved memory."""

    fragmentation_share: float = 0.15
    """Share of short-lived tensors, upper bound only: 15-20 % is the usual rule for blocks of uneven size."""

    spike_share: float = 0.10
    """Share of short-lived tensors, upper bound only: batches longer than usual, workspaces of libraries."""

    visible_share: float = 0.985
    """Share of a card's memory that its driver reports, if the catalogue does not know it: 81,559 of 81,920 MiB on an
    H100, 23,028 of 24,576 MiB on an A10G with error correction."""


CONSTANTS = Constants()
