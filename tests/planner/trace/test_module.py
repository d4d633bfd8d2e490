"""Tests of tracing torch modules without weights or a device."""

from typing import TYPE_CHECKING, Any

import pytest

from flyball_planner.models.cost import ModelCost, OperatorKind
from flyball_planner.models.transformer.cost import transformer_cost
from flyball_planner.models.transformer.shape import TransformerKind, TransformerShape
from flyball_planner.trace.module import trace_module
from flyball_reports.errors import InputError

if TYPE_CHECKING:
    import torch
    from torch import nn
else:
    torch = pytest.importorskip("torch", reason="torch is an optional dependency of the planner")
    nn = torch.nn


def given(*shape: int) -> Any:
    """Return an input on the meta device."""
    return torch.empty(*shape, device="meta")


def kept(cost: ModelCost) -> float:
    """Return the elements that all blocks keep per sample."""
    return sum(block.repeats * block.kept_elements for block in cost.blocks)


def perceptron() -> Any:
    """Return a perceptron 784 → 512 → 512 → 10."""
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


def test_the_cost_of_a_perceptron_follows_from_its_widths() -> None:
    """Each input of a product is kept once, and is shared with the activation before it."""
    cost = trace_module(perceptron, given(32, 784))
    assert cost.parameters == 784 * 512 + 512 + 512 * 512 + 512 + 512 * 10 + 10
    assert cost.forward_flops == 2 * (784 * 512 + 512 * 512 + 512 * 10)
    assert kept(cost) == 784 + 512 + 512


@pytest.mark.parametrize("samples", [1, 7, 64])
def test_the_cost_of_a_sample_is_independent_of_the_batch(samples: int) -> None:
    """A traced cost is that of one sample."""
    assert trace_module(perceptron, given(samples, 784)) == trace_module(perceptron, given(3, 784))


def test_nothing_is_allocated() -> None:
    """A model with a trillion parameters can be traced."""
    cost = trace_module(lambda: nn.Sequential(nn.Linear(1_000_000, 1_000_000, bias=False)), given(1, 1_000_000))
    assert cost.parameters == 10**12


def test_a_built_module_is_unchanged() -> None:
    """Tracing does not change the weights or hooks of a module."""
    module = perceptron()
    before = module[0].weight.clone()
    assert trace_module(module, torch.randn(4, 784)) == trace_module(perceptron, given(4, 784))
    assert torch.equal(module[0].weight, before)
    assert not module[0]._forward_hooks


def test_the_cost_of_a_convolution_follows_from_its_window() -> None:
    """FLOPs are 2 × window × channels × outputs, and the input is kept."""
    cost = trace_module(lambda: nn.Conv2d(3, 64, 7, stride=2, padding=3), given(2, 3, 224, 224))
    (operator,) = (each for block in cost.blocks for each in block.operators if each.flops)
    assert operator.kind is OperatorKind.CONVOLUTION
    assert (operator.rows, operator.inner, operator.columns) == (112 * 112, 147, 64)
    assert cost.forward_flops == 2 * 112 * 112 * 147 * 64
    assert kept(cost) == 3 * 224 * 224


def test_frozen_weights_keep_less() -> None:
    """If only the last layer is trained, only its input is kept."""
    module = perceptron()
    for layer in module[:4]:
        layer.requires_grad_(False)
    assert kept(trace_module(module, given(4, 784))) == 512


def test_a_shared_weight_counts_once() -> None:
    """An output tied to the embedding adds no parameters."""

    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(1000, 64)
            self.output = nn.Linear(64, 1000, bias=False)
            self.output.weight = self.embedding.weight

        def forward(self, tokens: Any) -> Any:
            return self.output(self.embedding(tokens))

    cost = trace_module(Tied, torch.zeros(2, 16, dtype=torch.long, device="meta"))
    assert cost.parameters == 64_000
    assert cost.forward_flops == 2 * 16 * 64 * 1000


class Block(nn.Module):
    """A layer of a GPT with fused attention."""

    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.out = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.up, self.down = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)

    def forward(self, tokens: Any) -> Any:
        """Apply attention and the MLP, each with its residual."""
        samples, sequence, hidden = tokens.shape
        split = (samples, sequence, self.heads, hidden // self.heads)
        q, k, v = (each.view(split).transpose(1, 2) for each in self.qkv(self.first(tokens)).chunk(3, dim=-1))
        attended = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        tokens = tokens + self.out(attended.transpose(1, 2).reshape(samples, sequence, hidden))
        return tokens + self.down(nn.functional.gelu(self.up(self.second(tokens))))


def test_a_transformer_agrees_with_its_shape() -> None:
    """FLOPs and parameters of traced layers match the formulas; kept elements are within 10 %."""
    hidden, heads, layers, sequence = 256, 4, 6, 128
    stack = nn.Sequential(*(Block(hidden, heads) for _ in range(layers)))
    traced = trace_module(stack, given(2, sequence, hidden))
    shape = TransformerShape(TransformerKind.DECODER, layers, hidden, heads, 4 * hidden, 1, heads, 64, dropout=False)
    (known,) = (block for block in transformer_cost(shape, sequence).blocks if block.name == "layer")
    assert sum(block.repeats for block in traced.blocks) == layers
    assert traced.parameters == layers * known.parameters
    assert traced.forward_flops == layers * sum(each.flops for each in known.operators)
    assert kept(traced) == pytest.approx(layers * known.kept_elements, rel=0.1)
    assert traced.blocks[-1].boundary_elements == known.boundary_elements


def test_a_module_that_branches_on_values_is_refused() -> None:
    """A module that branches on the values of tensors cannot be traced."""

    class Branching(nn.Module):
        def forward(self, tokens: Any) -> Any:
            return tokens if tokens.sum().item() > 0 else -tokens

    with pytest.raises(InputError, match="depends on values"):
        trace_module(Branching, given(2, 4))


def test_named_inputs_are_keyword_arguments() -> None:
    """The entries of a mapping are passed as keyword arguments."""
    cost = trace_module(lambda: nn.Bilinear(4, 4, 2), {"input1": given(3, 4), "input2": given(3, 4)})
    assert cost.parameters == 4 * 4 * 2 + 2


def test_a_recurrent_network_is_counted_by_its_products() -> None:
    """The trace contains the products of a recurrent cell instead of one opaque operator."""
    sequence, inner, hidden = 10, 32, 64
    cost = trace_module(lambda: nn.LSTM(inner, hidden, batch_first=True), given(3, sequence, inner))
    assert cost.forward_flops == sequence * 2 * 4 * hidden * (inner + hidden)


def test_an_input_that_is_passed_twice_is_kept_once() -> None:
    """Self-attention with one tensor as query, key and value keeps it once."""
    module = nn.MultiheadAttention(64, 4, batch_first=True)
    tokens = torch.randn(2, 16, 64)
    copies = tuple(tokens.clone() for _ in range(3))
    assert kept(trace_module(module, (tokens,) * 3)) < kept(trace_module(module, copies))


def kept_by_a_real_pass(module: nn.Module, inputs: Any) -> int:
    """Return the bytes that autograd saves in a real pass, without weights and buffers."""
    known = {each.untyped_storage().data_ptr() for each in (*module.parameters(), *module.buffers())}
    saved: dict[int, Any] = {}

    def keep(tensor: Any) -> Any:
        saved.setdefault(tensor.untyped_storage().data_ptr(), tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        module(inputs)
    return sum(each.untyped_storage().nbytes() for place, each in saved.items() if place not in known)


@pytest.mark.parametrize(
    ("build", "shape"),
    [
        (perceptron, (4, 784)),
        (lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)), (2, 3, 16, 16)),
        (lambda: nn.Sequential(*(Block(64, 4) for _ in range(3))), (2, 16, 64)),
        (lambda: nn.GRU(8, 16, batch_first=True), (2, 5, 8)),
    ],
)
def test_kept_bytes_match_a_real_pass(build: Any, shape: tuple[int, ...]) -> None:
    """Activation bytes match those that autograd saves in a real pass."""
    torch.manual_seed(0)
    module = build()
    real = kept_by_a_real_pass(module, torch.randn(*shape))
    assert 4 * shape[0] * kept(trace_module(module, given(*shape))) == pytest.approx(real, rel=1e-3)


class LeavingTorch(nn.Module):
    """A module that passes its tensors to another library."""

    def forward(self, tokens: Any) -> Any:
        """Return a number computed outside of torch."""
        return float(tokens.numpy().sum())


@pytest.mark.parametrize(
    ("module", "inputs", "message"),
    [
        (nn.Linear(5, 5), (2, 4), "Linear cannot run on inputs without values .*check that it accepts"),
        (LeavingTorch(), (2, 4), "only uses torch"),
        (nn.LazyLinear(5), (2, 4), "lazy weights"),
        (5, (2, 4), "expected a torch module"),
        (lambda: 5, (2, 4), "expected a function that builds a torch module"),
    ],
)
def test_untraceable_modules_are_reported(
    module: Any, inputs: tuple[int, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names the module and what to do, and nothing is written to stderr."""
    with pytest.raises(InputError, match=message):
        trace_module(module, given(*inputs))
    assert capsys.readouterr().err == ""
