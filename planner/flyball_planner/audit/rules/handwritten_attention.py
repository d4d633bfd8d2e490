"""`handwritten-attention`: softmax(q kᵀ) v in several kernels, with the whole matrix of weights in memory."""

import ast
import re
from collections.abc import Iterator

from flyball_planner.audit.finding import Gain, Severity, Time
from flyball_planner.audit.module import Function, last_name
from flyball_planner.audit.products import attends, multiplies
from flyball_planner.audit.project import Module, Project
from flyball_planner.audit.rule import LIKELY, SUSPECTED, Match, Rule

_FUSED = re.compile(r"scaled_dot_product_attention|flash_attn|memory_efficient_attention|xformers|flex_attention")
_BIAS = re.compile(r"bias|pos_|position|rel_|relative|alibi")
_SOFTMAX = frozenset({"torch.softmax", "torch.nn.functional.softmax", "torch.special.softmax"})

_SCALING = frozenset({
    "masked_fill", "masked_fill_", "float", "to", "type", "half", "contiguous", "where", "clamp", "type_as", "add",
    "add_", "mul", "mul_", "div", "div_", "bfloat16", "clone",
})  # fmt: skip
"""What is done to scores between the product and the softmax: the fused kernel does it too, or takes it as its mask."""


def look(module: Module, project: Project) -> Iterator[Match]:
    """Softmaxes of a product of queries and keys whose result multiplies values and serves nothing else."""
    if "softmax" not in module.source.text.lower() or _FUSED.search(module.source.text):
        return
    for function in module.functions:
        for call in module.calls_of(function):
            scores = _softmaxed(module, project, call)
            if scores is None or not _is_over_keys(call):
                continue
            if _is_product(module, function, scores) and attends(module, function, call):
                yield _match(module, call, biased=_is_biased(module, function, scores))


def _match(module: Module, call: ast.Call, *, biased: bool) -> Match:
    because = "its scores are a product of queries and keys, its weights multiply values and serve nothing else"
    return Match(
        call,
        f"`{module.quote(call)}` is the middle of an attention written by hand",
        f"{because}; the bias would go in as `attn_mask`, with which not every fused kernel works"
        if biased
        else because,
        SUSPECTED if biased else LIKELY,
        Severity.NOTE if biased else None,
    )


def _softmaxed(module: Module, project: Project, call: ast.Call) -> ast.expr | None:
    """What a call takes the softmax of."""
    given = next((each.value for each in call.keywords if each.arg == "input"), call.args[0] if call.args else None)
    if "softmax" in last_name(call).lower():
        if module.qualified(call.func) in _SOFTMAX:
            return given
        if last_name(call) == "softmax" and module.qualified(call.func) is None:  # a tensor's method, or one of several
            return call.func.value if isinstance(call.func, ast.Attribute) else given
    may_be_layer = isinstance(call.func, ast.Attribute | ast.Call) and "Softmax(" in module.source.text
    return given if may_be_layer and project.origins.of(module, call.func) == "torch.nn.Softmax()" else None


def _is_over_keys(call: ast.Call) -> bool:
    """Whether the softmax may go along the last dimension: linear attention's goes along another."""
    made = call.func if isinstance(call.func, ast.Call) else call
    given = (*made.args, *(each.value for each in made.keywords if each.arg == "dim"))
    return not {ast.unparse(each) for each in given} & {"-2", "-3", "0"}


def _is_product(module: Module, function: Function, node: ast.expr, depth: int = 0) -> bool:
    """Whether an expression is q kᵀ, scaled and masked."""
    if depth > 8:  # assignments and operations on the way back: more are no attention
        return False
    if multiplies(module, function, node):
        return True
    if isinstance(node, ast.Name):
        return any(_is_product(module, function, each, depth + 1) for each in _given(module, function, node))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div | ast.Add | ast.Sub):
        return any(_is_product(module, function, each, depth + 1) for each in (node.left, node.right))
    if isinstance(node, ast.Call) and last_name(node) in _SCALING:
        held = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        return any(_is_product(module, function, each, depth + 1) for each in (*held, *node.args))
    return False


def _is_biased(module: Module, function: Function, node: ast.expr, depth: int = 0) -> bool:
    """Whether something that is called a bias or a position is added to the scores on their way."""
    if depth > 8:
        return False
    if isinstance(node, ast.Name):
        return any(_is_biased(module, function, each, depth + 1) for each in _given(module, function, node))
    if isinstance(node, ast.Call) and last_name(node) in _SCALING and isinstance(node.func, ast.Attribute):
        return any(_is_biased(module, function, each, depth + 1) for each in (node.func.value, *node.args))
    if not isinstance(node, ast.BinOp):
        return False
    if isinstance(node.op, ast.Add) and _BIAS.search(ast.unparse(node)):
        return True
    return any(_is_biased(module, function, each, depth + 1) for each in (node.left, node.right))


def _given(module: Module, function: Function, name: ast.Name) -> list[ast.expr]:
    """What a function last gave a variable above its use."""
    found = [
        assigned
        for assigned in module.all(ast.Assign)
        if assigned.lineno < name.lineno
        and module.function_of(assigned) is function
        and any(isinstance(each, ast.Name) and each.id == name.id for each in assigned.targets)
    ]
    return [max(found, key=lambda each: each.lineno).value] if found else []


RULE = Rule(
    id="handwritten-attention",
    severity=Severity.WARNING,
    summary="Attention is written by hand.",
    cause="Scores, mask, softmax, dropout and product are kernels of their own, and each reads and writes a matrix of "
    "length × length.",
    change="`F.scaled_dot_product_attention(q, k, v, is_causal=True)` (or `attn_mask=`, `dropout_p=` while training): "
    "one kernel, which "
    "never writes that matrix.",
    expected="1.27× for nanoGPT (143 to 113 ms a batch on an A100), more with longer texts; memory grows with the "
    "length, not its square",
    source="PyTorch's “Accelerating Large Language Models with Accelerated Transformers”: "
    "https://pytorch.org/blog/accelerating-large-language-models/; FlashAttention: https://arxiv.org/abs/2205.14135",
    before="weights = softmax(q @ k.transpose(-2, -1) * scale + mask, dim=-1)\ny = dropout(weights) @ v",
    after="y = F.scaled_dot_product_attention(q, k, v, dropout_p=p if self.training else 0.0, is_causal=True)",
    look=look,
    words=("softmax", "Softmax"),
    gain=Gain(Time.COMPUTE, 1.27),
)
