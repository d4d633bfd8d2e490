"""Find out whether an attention has no mask, one that is proven to be causal, or another one."""

import ast
from importlib.util import find_spec
from typing import Any

import pytest

from flyball_audit.attention_masks import AttentionMask, mask_of
from flyball_audit.run import audit_sources
from flyball_audit.source import Source
from tests.audit.projects import module_of

HEAD = """
import math
import torch
import torch.nn.functional as F


class Attention(torch.nn.Module):
    def __init__(self, longest=64, mask_value=-1e9):
        super().__init__()
        self.register_buffer("lower", torch.tril(torch.ones(longest, longest)).view(1, 1, longest, longest))
        self.register_buffer("own", torch.zeros(longest, longest))
        self.table = torch.triu(torch.full((longest, longest), float("-inf")), diagonal=1)

    def forward(self, q, k, v, given=None, causal=True):
        t, scale = q.size(-2), q.size(-1) ** -0.5
        scores = q @ k.transpose(-2, -1) * scale
        {body}
        return torch.softmax(scores, dim=-1) @ v
"""

CAUSAL = [
    "scores = scores.masked_fill(self.lower[:, :, :t, :t] == 0, float('-inf'))",
    "scores = scores.masked_fill(~self.lower[:, :, :t, :t].bool(), -1e9)",
    "scores = scores + self.table[:t, :t]",
    "scores += torch.triu(torch.full((t, t), float('-inf')), diagonal=1)",
    "scores = scores + torch.nn.Transformer.generate_square_subsequent_mask(t)",
    "scores.masked_fill_(torch.ones(t, t, dtype=torch.bool).triu(1), -math.inf)",
    "scores = torch.where(torch.tril(torch.ones(t, t)).bool(), scores, torch.finfo(scores.dtype).min)",
    "scores = torch.where(torch.triu(torch.ones(t, t), 1) > 0, -torch.inf, scores)",
    "m = torch.full((t, t), -1e9)\nm = torch.triu(m, diagonal=1)\nscores = scores + m",
    "m = (torch.triu(torch.ones(t, t)) == 1).transpose(0, 1)\nscores = scores.masked_fill(m == 0, -1e9)",
    "i = torch.arange(t)\nscores = scores.masked_fill(i[:, None] < i[None, :], -1e9)",
    "i = torch.arange(t)\nscores = scores.masked_fill(~(i.unsqueeze(1) >= i), -1e9)",
    "m = torch.tril(torch.ones(t, t))\nm = m.masked_fill(m == 0, -math.inf).masked_fill(m == 1, 0.0)\nscores += m",
    "scores = scores + (1.0 - torch.tril(torch.ones(t, t))) * -1e9",
    "scores[..., torch.ones(t, t).triu(1).bool()] = float('-inf')",
    "scores = scores.masked_fill(q.new_ones(t, t).tril().logical_not(), -1e9)\nscores = scores - scores.amax(-1, True)",
]

OTHER = [
    "scores = scores.masked_fill(given, float('-inf'))",
    "scores = scores.masked_fill(torch.tril(torch.ones(t, t)).bool(), -1e9)",
    "scores = scores.masked_fill(torch.triu(torch.ones(t, t)).bool(), -1e9)",
    "scores = scores.masked_fill(torch.triu(torch.ones(t, t), 2).bool(), -1e9)",
    "scores = scores.masked_fill(torch.triu(torch.ones(t, t), 1).bool(), 0.0)",
    "scores = scores.masked_fill(self.lower[:, :, 1:t, :t] == 0, -1e9)",
    "if causal:\n    scores = scores + self.table[:t, :t]",
    "m = self.table[:t, :t]\nif given is not None:\n    m = given\nscores = scores + m",
    "m = torch.tril(torch.ones(t, t)).bool()\nm[0] = True\nscores = scores.masked_fill(~m, -1e9)",
    "scores = scores + self.table[:t, :t] + given",
    "scores = scores.masked_fill((self.lower[:, :, :t, :t] == 0) | given, -1e9)",
    "scores = scores + self.own[:t, :t]",
    "scores = scores * given.mask",
    "scores = scores - 1e9 * (1 - given)",
    "scores += given",
]

NONE = [
    "pass",
    "scores = scores / math.sqrt(t)",
    "scores = scores - scores.amax(dim=-1, keepdim=True)",
    "scores = scores + 1e-6",
    "scores = scores.float()",
]


def _code(body: str) -> str:
    return HEAD.format(body=body.replace("\n", "\n        "))


def _mask(body: str) -> AttentionMask:
    _, module = module_of(_code(body))
    (function,) = (each for each in module.functions if each.name == "forward")
    (softmax,) = module.calls_named("softmax")
    products = (each for each in module.all(ast.BinOp) if isinstance(each.op, ast.MatMult))
    (product,) = (each for each in products if "transpose" in ast.unparse(each))
    return mask_of(module, function, softmax, softmax.args[0], product)


@pytest.mark.parametrize("body", CAUSAL)
def test_a_mask_that_hides_all_later_positions_is_causal(body: str) -> None:
    """Triangles, additive masks, buffers and comparisons of positions are followed to where they are made."""
    assert _mask(body) is AttentionMask.CAUSAL


@pytest.mark.parametrize("body", OTHER)
def test_a_mask_that_is_not_proven_to_be_causal_is_another_one(body: str) -> None:
    """Arguments, wrong triangles, conditions and masks with more in them."""
    assert _mask(body) is AttentionMask.OTHER


@pytest.mark.parametrize("body", NONE)
def test_scaling_and_shifting_are_no_masks(body: str) -> None:
    """Softmax cancels a shift out, and a fused kernel scales."""
    assert _mask(body) is AttentionMask.NONE


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is no dependency of the audit; with it these run too")
@pytest.mark.parametrize("body", CAUSAL)
def test_the_fused_kernel_with_is_causal_gives_the_same(body: str) -> None:
    """What is called causal is: PyTorch's own kernel proves it."""
    import torch  # noqa: PLC0415  not a dependency

    names: dict[str, Any] = {}
    exec(_code(body), names)  # noqa: S102  the code above
    q, k, v = torch.randn(3, 2, 4, 7, 8, generator=torch.Generator().manual_seed(0)).unbind(0)
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(names["Attention"]()(q, k, v), expected)


@pytest.mark.parametrize(
    ("body", "contains", "lacks"),
    [
        (CAUSAL[0], "is_causal=True", "attn_mask"),
        (OTHER[0], "attn_mask=", "is_causal"),
        (NONE[0], "F.scaled_dot_product_attention(q, k, v)`", "mask"),
    ],
)
def test_the_advice_names_the_argument_that_fits_the_mask(body: str, contains: str, lacks: str) -> None:
    """`is_causal=True` on a mask that is not causal would change results."""
    report = audit_sources([Source("train.py", _code(body))])
    (found,) = (each for each in report.findings if each.rule == "handwritten-attention")
    assert contains in found.change
    assert lacks not in found.change.replace("is_causal=True)`: the mask here is causal", "is_causal=True)`")
