"""Low-rank additions: their parameters, and what a layer over frozen weights keeps for its backward pass."""

from collections.abc import Mapping

from flyball_planner.models.transformer.shape import Norm, TransformerShape
from flyball_planner.training import Lora

DROPOUT_BYTES = 1.0  # a mask; the dropped input is a copy of its own
INPUTS = (("q", "k", "v"), ("o",), ("gate",), ("up",), ("down",))
"""Products that share what they are given."""


def widths(shape: TransformerShape) -> Mapping[str, tuple[int, int]]:
    """What enters and leaves each product of a layer."""
    queries, keys = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    found = {
        "q": (shape.hidden, queries),
        "k": (shape.hidden, keys),
        "v": (shape.hidden, keys),
        "o": (queries, shape.hidden),
        "up": (shape.hidden, shape.ffn),
        "down": (shape.ffn, shape.hidden),
    }
    return {**found, "gate": (shape.hidden, shape.ffn)} if shape.gated else found


def adapter_parameters(shape: TransformerShape, lora: Lora) -> int:
    """Trained parameters of one layer."""
    known = widths(shape)
    return sum(lora.rank * sum(known[target]) for target in lora.targets if target in known)


def kept_bytes_frozen(
    shape: TransformerShape, sequence: int, lora: Lora, *, number_bytes: float, fused_norms: bool
) -> float:
    """What one layer keeps of a sample when only its additions are trained.

    A frozen product does not need its input, nor a frozen norm its result: what remains are the norms' own inputs, the
    additions' inputs, attention's, and what enters the non-linear parts.
    """
    norm = 4.0 if shape.norm is Norm.RMS and not fused_norms else number_bytes
    attention = 2 * (shape.heads + shape.kv_heads) * shape.head_dim
    inner = (3 if shape.gated else 1) * shape.ffn
    a_token = norm * shape.norms_a_layer * shape.hidden + number_bytes * (attention + inner)
    return sequence * (a_token + (number_bytes + DROPOUT_BYTES) * _added_inputs(shape, lora))


def output_numbers(shape: TransformerShape) -> int:
    """What all products of a layer put out, a token."""
    return sum(leaving for _, leaving in widths(shape).values())


def _added_inputs(shape: TransformerShape, lora: Lora) -> int:
    known = widths(shape)
    return sum(
        known[shared[0]][0]
        for shared in INPUTS
        if shared[0] in known and any(target in lora.targets for target in shared)
    )
