"""Torch modules traced without weights or device."""

from typing import TYPE_CHECKING, Any

import pytest

from flyball_planner.models.cost import ModelCost, OperatorKind
from flyball_planner.models.transformer.cost import transformer_cost
from flyball_planner.models.transformer.shape import Kind, TransformerShape
from flyball_planner.trace.module import trace_module
from flyball_reports.errors import InputError

if TYPE_CHECKING:
    import torch
    from torch import nn
else:
    torch = pytest.importorskip("torch", reason="torch is no dependency of the planner; with it these run too")
    nn = torch.nn


def given(*shape: int) -> Any:
    """An input without numbers."""
    return torch.empty(*shape, device="meta")


def kept(cost: ModelCost) -> float:
    """Elements that all blocks keep of a sample."""
    return sum(block.repeats * block.kept_elements for block in cost.blocks)


def perceptron() -> Any:
    """784 → 512 → 512 → 10."""
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


def test_a_perceptron_costs_what_its_widths_say() -> None:
    """Parameters, FLOPs, and one kept element for each input of a product, shared with the activation before it."""
    cost = trace_module(perceptron, given(32, 784))
    assert cost.parameters == 784 * 512 + 512 + 512 * 512 + 512 + 512 * 10 + 10
    assert cost.forward_flops == 2 * (784 * 512 + 512 * 512 + 512 * 10)
    assert kept(cost) == 784 + 512 + 512


@pytest.mark.parametrize("samples", [1, 7, 64])
def test_a_sample_costs_the_same_in_any_batch(samples: int) -> None:
    """Costs are those of one sample."""
    assert trace_module(perceptron, given(samples, 784)) == trace_module(perceptron, given(3, 784))


def test_nothing_is_allocated() -> None:
    """A model of a trillion parameters is traced, built or not."""
    cost = trace_module(lambda: nn.Sequential(nn.Linear(1_000_000, 1_000_000, bias=False)), given(1, 1_000_000))
    assert cost.parameters == 10**12


def test_a_built_module_is_left_as_it_was() -> None:
    """Tracing a real module changes neither its weights nor its hooks."""
    module = perceptron()
    before = module[0].weight.clone()
    assert trace_module(module, torch.randn(4, 784)) == trace_module(perceptron, given(4, 784))
    assert torch.equal(module[0].weight, before)
    assert not module[0]._forward_hooks


def test_a_convolution_costs_its_windows() -> None:
    """2 × window × channels × places, and what enters it is kept."""
    cost = trace_module(lambda: nn.Conv2d(3, 64, 7, stride=2, padding=3), given(2, 3, 224, 224))
    (operator,) = (each for block in cost.blocks for each in block.operators if each.flops)
    assert operator.kind is OperatorKind.CONVOLUTION
    assert (operator.rows, operator.inner, operator.columns) == (112 * 112, 147, 64)
    assert cost.forward_flops == 2 * 112 * 112 * 147 * 64
    assert kept(cost) == 3 * 224 * 224


def test_frozen_weights_keep_less() -> None:
    """Where only the last layer is trained, only its input is kept."""
    module = perceptron()
    for layer in module[:4]:
        layer.requires_grad_(False)
    assert kept(trace_module(module, given(4, 784))) == 512


def test_a_shared_weight_counts_once() -> None:
    """An output that is the embedding adds no parameters."""

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
        """Both blocks with their residuals."""
        samples, sequence, hidden = tokens.shape
        split = (samples, sequence, self.heads, hidden // self.heads)
        q, k, v = (each.view(split).transpose(1, 2) for each in self.qkv(self.first(tokens)).chunk(3, dim=-1))
        seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        tokens = tokens + self.out(seen.transpose(1, 2).reshape(samples, sequence, hidden))
        return tokens + self.down(nn.functional.gelu(self.up(self.second(tokens))))


def test_a_transformer_agrees_with_its_shape() -> None:
    """FLOPs and parameters of traced layers are those of the formulas; kept elements come within a tenth."""
    hidden, heads, layers, sequence = 256, 4, 6, 128
    stack = nn.Sequential(*(Block(hidden, heads) for _ in range(layers)))
    traced = trace_module(stack, given(2, sequence, hidden))
    shape = TransformerShape(Kind.DECODER, layers, hidden, heads, 4 * hidden, 1, heads, 64, dropout=False)
    (known,) = (block for block in transformer_cost(shape, sequence).blocks if block.name == "layer")
    assert sum(block.repeats for block in traced.blocks) == layers
    assert traced.parameters == layers * known.parameters
    assert traced.forward_flops == layers * sum(each.flops for each in known.operators)
    assert kept(traced) == pytest.approx(layers * known.kept_elements, rel=0.1)
    assert traced.blocks[-1].boundary_elements == known.boundary_elements


def test_a_module_that_decides_by_values_is_refused() -> None:
    """Without numbers no decision can be made: the message says what to trace instead."""

    class Deciding(nn.Module):
        def forward(self, tokens: Any) -> Any:
            return tokens if tokens.sum().item() > 0 else -tokens

    with pytest.raises(InputError, match="decides by values"):
        trace_module(Deciding, given(2, 4))


def test_named_inputs_are_keyword_arguments() -> None:
    """A mapping is passed by name."""
    cost = trace_module(lambda: nn.Bilinear(4, 4, 2), {"input1": given(3, 4), "input2": given(3, 4)})
    assert cost.parameters == 4 * 4 * 2 + 2


def test_a_recurrent_network_is_counted_by_its_products() -> None:
    """The products of a recurrent cell are seen, not one opaque operator of a library."""
    sequence, inner, hidden = 10, 32, 64
    cost = trace_module(lambda: nn.LSTM(inner, hidden, batch_first=True), given(3, sequence, inner))
    assert cost.forward_flops == sequence * 2 * 4 * hidden * (inner + hidden)


def test_an_input_that_is_given_twice_is_kept_once() -> None:
    """Self-attention whose query, key and value are one tensor keeps it as a real pass does."""
    module = nn.MultiheadAttention(64, 4, batch_first=True)
    tokens = torch.randn(2, 16, 64)
    copies = tuple(tokens.clone() for _ in range(3))
    assert kept(trace_module(module, (tokens,) * 3)) < kept(trace_module(module, copies))


def kept_by_a_real_pass(module: nn.Module, given_: Any) -> int:
    """Bytes that autograd saves in a pass with numbers, weights and buffers apart."""
    known = {each.untyped_storage().data_ptr() for each in (*module.parameters(), *module.buffers())}
    saved: dict[int, Any] = {}

    def keep(tensor: Any) -> Any:
        saved.setdefault(tensor.untyped_storage().data_ptr(), tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        module(given_)
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
def test_what_is_kept_is_what_a_real_pass_keeps(build: Any, shape: tuple[int, ...]) -> None:
    """Activation bytes agree with those that autograd saves when the module runs with numbers."""
    torch.manual_seed(0)
    module = build()
    real = kept_by_a_real_pass(module, torch.randn(*shape))
    assert 4 * shape[0] * kept(trace_module(module, given(*shape))) == pytest.approx(real, rel=1e-3)


class LeavingTorch(nn.Module):
    """Hands its numbers to another library."""

    def forward(self, tokens: Any) -> Any:
        """A number that torch does not know of."""
        return float(tokens.numpy().sum())


@pytest.mark.parametrize(
    ("module", "inputs", "told"),
    [
        (nn.Linear(5, 5), (2, 4), "Linear cannot run on inputs without numbers .*check that it takes"),
        (LeavingTorch(), (2, 4), "leaves torch"),
        (nn.LazyLinear(5), (2, 4), "lazy weights"),
        (5, (2, 4), "expected a torch module"),
        (lambda: 5, (2, 4), "expected a function that builds a torch module"),
    ],
)
def test_what_cannot_be_traced_is_told(
    module: Any, inputs: tuple[int, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One error that names the module and what to do, and nothing else on the screen."""
    with pytest.raises(InputError, match=told):
        trace_module(module, given(*inputs))
    assert capsys.readouterr().err == ""
