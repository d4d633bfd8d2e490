"""What the last axis of queries is, as the code around them tells."""

import ast

import pytest

from flyball_audit.axes import has_features_last
from tests.audit.projects import module_of


def _has_features_last(body: str) -> bool:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    _, module = module_of(f"import torch\ndef attention(self, x, q, h):\n{lines}    return q\n")
    function = next(each for each in module.tree.body if isinstance(each, ast.FunctionDef))
    returned = function.body[-1]
    assert isinstance(returned, ast.Return)
    assert returned.value is not None
    return has_features_last(module, function, returned.value)


@pytest.mark.parametrize(
    "body",
    [
        "pass",
        "q = self.query(x)",
        "q = self.query(x).view(2, 3, h, -1).transpose(1, 2)",
        "q, k = self.qk(x).reshape(2, 3, 2, h, -1).permute(2, 0, 3, 1, 4).unbind(0)",
        "q = x.permute(0, 2, 1)",
        "q, k = x.view(2, 3, h, 4, 2).unbind(-1)",
        "q = rearrange(x, 'b (h d) x y -> b h (x y) d')",
        "q = rearrange(x, 'b h c (x y)')\nq = q.transpose(-2, -1)",
    ],
)
def test_queries_end_in_features_unless_the_code_says_otherwise(body: str) -> None:
    """Unknown queries, and those that were split into heads as usual, may be what a fused kernel takes."""
    assert _has_features_last(body)


@pytest.mark.parametrize(
    "body",
    [
        "q, k = self.qk(x).unbind(-1)",
        "q = self.one(x)\nq, k = q.unbind(dim=-1)",
        "q = self.qkv(x).reshape(2, 3, 3, h, -1).permute(2, 0, 3, 4, 1)",
        "qkv = self.qkv(x).reshape(2, 3, 3, h, -1).permute(2, 0, 3, 4, 1)\nq, k, v = qkv.unbind(0)",
        "q = rearrange(x, 'b (h c) x y -> b h c (x y)')\nq = torch.nn.functional.normalize(q, dim=-1)",
        "q = rearrange(x, 'b (h c) x y -> b h c (x y)') * h",
    ],
)
def test_queries_that_are_numbers_or_channels_are_told(body: str) -> None:
    """Where the last axis was taken apart, or holds places, no fused kernel helps."""
    assert not _has_features_last(body)
