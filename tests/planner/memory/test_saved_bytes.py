"""Compare the bytes that a layer keeps under autocast with those that torch saves."""

from typing import TYPE_CHECKING, Any

import pytest

from flyball_planner.models.transformer.kept_activations import kept_bytes_autocast
from flyball_planner.models.transformer.shape import NormKind, TransformerKind, TransformerShape

if TYPE_CHECKING:
    import torch
    import torch.utils.checkpoint
    from torch import nn
    from torch.nn import functional
else:
    torch = pytest.importorskip("torch", reason="torch is an optional dependency of the planner")
    pytest.importorskip("torch.utils.checkpoint", reason="torch is an optional dependency of the planner")
    nn, functional = torch.nn, torch.nn.functional

TOKENS, HIDDEN, HEADS, WIDE = 48, 64, 4, 160


class _Layer:
    """A layer with queries, keys and values by separate products; gated with RMS norms, or like BERT's."""

    def __init__(self, gated: bool) -> None:
        self.gated = gated
        self.products = [nn.Linear(HIDDEN, HIDDEN) for _ in range(4)]
        self.up, self.gate, self.down = nn.Linear(HIDDEN, WIDE), nn.Linear(HIDDEN, WIDE), nn.Linear(WIDE, HIDDEN)
        self.scales = [nn.Parameter(torch.ones(HIDDEN)) for _ in range(2)]

    def norm(self, given: Any, which: int) -> Any:
        """Return the normalised stream as Hugging Face's modules compute it."""
        if not self.gated:
            return functional.layer_norm(given, (HIDDEN,), self.scales[which])
        return self.scales[which] * (given * torch.rsqrt(given.pow(2).mean(-1, keepdim=True) + 1e-6))

    def __call__(self, stream: Any) -> Any:
        """Return the stream after attention and feed-forward block."""
        entering = self.norm(stream, 0)
        q, k, v = (each(entering).view(1, TOKENS, HEADS, -1).transpose(1, 2) for each in self.products[:3])
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        stream = stream + self.products[3](attended.transpose(1, 2).reshape(1, TOKENS, HIDDEN))
        entering = self.norm(stream, 1)
        if self.gated:
            return stream + self.down(functional.silu(self.gate(entering)) * self.up(entering))
        return stream + self.down(functional.gelu(self.up(entering)))


WEIGHT_SIZES = {each * width for each in (HIDDEN * HIDDEN, HIDDEN * WIDE) for width in (2, 4)}
SMALLEST = 1024  # bytes; below are statistics of norms, biases and scales


def traced_layer(*, gated: bool) -> int:
    """Return the bytes that torch keeps for a middle layer under autocast; weights are recognised by their sizes."""
    seen: set[int] = set()
    kept = [0]

    def keep(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in seen and storage.nbytes() > SMALLEST and storage.nbytes() not in WEIGHT_SIZES:
            seen.add(storage.data_ptr())
            kept[-1] += storage.nbytes()
        return tensor

    stream = torch.randn(1, TOKENS, HIDDEN, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda each: each), torch.autocast("cpu", torch.bfloat16):
        for _ in range(3):
            kept.append(0)
            stream = _Layer(gated)(stream)
    return kept[2]


@pytest.mark.parametrize("gated", [False, True])
def test_kept_bytes_match_what_torch_saves(gated: bool) -> None:
    """A traced layer under torch.autocast keeps what the formula states, within 3 %."""
    shape = TransformerShape(
        TransformerKind.DECODER if gated else TransformerKind.ENCODER, 3, HIDDEN, HEADS, WIDE, 0, HEADS,
        HIDDEN // HEADS, gated=gated, norm=NormKind.RMS if gated else NormKind.LAYER, dropout=False,
    )  # fmt: skip
    assert traced_layer(gated=gated) == pytest.approx(kept_bytes_autocast(shape, TOKENS).total, rel=0.03)


@pytest.mark.parametrize("checkpointed", [False, True])
def test_torch_holds_copies_of_frozen_weights_only_in_the_graph(checkpointed: bool) -> None:
    """torch itself keeps a copy of each frozen weight until the backward pass, and none with checkpointing."""
    layers = nn.ModuleList(nn.Linear(64, 64, bias=False) for _ in range(3)).requires_grad_(False)
    held: dict[int, int] = {}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dtype is torch.bfloat16 and tensor.numel() == 64 * 64:
            held[tensor.data_ptr()] = tensor.numel()
        return tensor

    state = torch.ones(2, 64, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor), torch.autocast("cpu", torch.bfloat16):
        for layer in layers:
            state = (
                torch.utils.checkpoint.checkpoint(layer, state, use_reentrant=False) if checkpointed else layer(state)
            )
    assert len(held) == (0 if checkpointed else 3)
