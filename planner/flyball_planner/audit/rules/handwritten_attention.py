"""`handwritten-attention`: softmax(q kᵀ) v in several kernels, with the whole matrix of weights in memory."""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from flyball_planner.audit.finding import Gain, Severity, Time
from flyball_planner.audit.module import Function, last_name
from flyball_planner.audit.products import attends, attends_unless_asked, multiplies
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
    if "softmax" not in module.source.text.lower():
        return
    fused = _fused(module) if _FUSED.search(module.source.text) else None
    for function in module.functions if fused is None else _elsewhere(module, fused):
        for call in module.calls_of(function):
            scores = _softmaxed(module, project, call)
            if scores is not None and _is_over_keys(call) and not _serves_else(module, function, scores):
                found = _of_scores(module, function, call, scores)
                yield from found if fused is None else (replace(each, **_BESIDE) for each in found)


def _fused(module: Module) -> list[ast.ClassDef]:
    """The classes that speak of a fused kernel."""
    return [each for each in module.all(ast.ClassDef) if _FUSED.search(ast.unparse(each))]


def _elsewhere(module: Module, fused: list[ast.ClassDef]) -> Iterator[Function]:
    """The methods of classes of which none that speaks of a fused kernel is a kind, or another name."""
    others = [*(base for each in fused for base in map(ast.unparse, each.bases)), *(each.name for each in fused)]
    for function in module.functions if fused else ():
        holder = module.class_of(function)
        if holder is not None and not any(each.endswith(holder.name) or holder.name.endswith(each) for each in others):
            yield function


def _of_scores(module: Module, function: Function, call: ast.Call, scores: ast.expr) -> Iterator[Match]:
    doubt = _BIASED if _is_biased(module, function, scores) else None
    if _is_product(module, function, scores):
        if attends(module, function, call):
            yield _match(module, call, doubt)
        elif attends_unless_asked(module, function, call):
            yield _match(module, call, _ASKED_FOR)
    elif _is_product(module, function, scores, turned=True) and attends(module, function, call, turned=True):
        yield _match(module, call, doubt)


_BESIDE: dict[str, Any] = {
    "severity": Severity.NOTE,
    "confidence": SUSPECTED,
    "because": "other layers of the file use a fused kernel, and this one, as far as is seen, does not",
}
_BIASED = "the bias would go in as `attn_mask`, with which not every fused kernel works"
_ASKED_FOR = "they are handed out where somebody asks for them: the fused kernel would do where nobody does"


def _match(module: Module, call: ast.Call, doubt: str | None) -> Match:
    because = "its scores are a product of queries and keys, its weights multiply values"
    return Match(
        call,
        f"`{module.quote(call)}` is the middle of an attention written by hand",
        f"{because} and serve nothing else" if doubt is None else f"{because}; {doubt}",
        LIKELY if doubt is None else SUSPECTED,
        None if doubt is None else Severity.NOTE,
    )


def _softmaxed(module: Module, project: Project, call: ast.Call) -> ast.expr | None:
    """What a call takes the softmax of."""
    given = next((each.value for each in call.keywords if each.arg == "input"), call.args[0] if call.args else None)
    if "softmax" in last_name(call).lower() and module.qualified(call.func) in _SOFTMAX:
        return given
    is_layer = isinstance(call.func, ast.Attribute | ast.Call) and "Softmax(" in module.source.text
    if is_layer and project.origins.of(module, call.func) == "torch.nn.Softmax()":
        return given
    if last_name(call) != "softmax" or module.qualified(call.func) is not None:
        return None
    holder = call.func.value if isinstance(call.func, ast.Attribute) else None  # a tensor's method, or one of several
    return given if holder is None or ast.unparse(holder) == "self" else holder


def _is_over_keys(call: ast.Call) -> bool:
    """Whether the softmax may go along the last dimension: linear attention's goes along another."""
    made = call.func if isinstance(call.func, ast.Call) else call
    given = (*made.args, *(each.value for each in made.keywords if each.arg == "dim"))
    return not {ast.unparse(each) for each in given} & {"-2", "-3", "0"}


def _is_product(module: Module, function: Function, node: ast.expr, depth: int = 0, *, turned: bool = False) -> bool:
    """Whether an expression is q kᵀ, scaled and masked; turned: qᵀ k."""
    if depth > 8:  # assignments and operations on the way back: more are no attention
        return False
    if multiplies(module, function, node, turned=turned):
        return True
    parts: list[ast.expr] = []
    if isinstance(node, ast.Name):
        parts = _given(module, function, node)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div | ast.Add | ast.Sub):
        parts = [node.left, node.right]
    elif isinstance(node, ast.Call) and last_name(node) in _SCALING:
        parts = [*([node.func.value] if isinstance(node.func, ast.Attribute) else []), *node.args]
    return any(_is_product(module, function, each, depth + 1, turned=turned) for each in parts)


def _serves_else(module: Module, function: Function, scores: ast.expr) -> bool:
    """Whether the scores are read again behind the softmax: a fused kernel gives none."""
    if not isinstance(scores, ast.Name):
        return False
    end = module.statement(scores).end_lineno or scores.lineno
    given = [each.lineno for each in module.all(ast.Assign) if each.lineno > scores.lineno - 1
             and module.function_of(each) is function and scores.id in _stored(each)]  # fmt: skip
    last = min(given, default=None)
    return any(
        each.id == scores.id and type(each.ctx) is ast.Load and module.function_of(each) is function
        and each.lineno > end and (last is None or each.lineno <= last)
        for each in module.all(ast.Name)
    )  # fmt: skip


def _stored(assigned: ast.Assign) -> set[str]:
    return {each.id for target in assigned.targets for each in ast.walk(target) if isinstance(each, ast.Name)}


def _is_biased(module: Module, function: Function, node: ast.expr, depth: int = 0) -> bool:
    """Whether something that is called a bias or a position is added to the scores on their way."""
    if depth > 8:
        return False
    if isinstance(node, ast.Name):
        given = [*_given(module, function, node), *_added(module, function, node)]
        return any(_is_biased(module, function, each, depth + 1) for each in given)
    if isinstance(node, ast.Call) and last_name(node) in _SCALING and isinstance(node.func, ast.Attribute):
        return any(_is_biased(module, function, each, depth + 1) for each in (node.func.value, *node.args))
    if not isinstance(node, ast.BinOp):
        return False
    if isinstance(node.op, ast.Add) and _BIAS.search(ast.unparse(node)):
        return True
    return any(_is_biased(module, function, each, depth + 1) for each in (node.left, node.right))


def _added(module: Module, function: Function, name: ast.Name) -> list[ast.expr]:
    """What is added to a variable in place above its use, as a sum."""
    return [
        ast.BinOp(each.target, each.op, each.value)
        for each in module.all(ast.AugAssign)
        if each.lineno < name.lineno and module.function_of(each) is function
        and isinstance(each.target, ast.Name) and each.target.id == name.id
    ]  # fmt: skip


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
