"""`handwritten-attention`: softmax(q kᵀ) v in several kernels, with the whole matrix of weights in memory."""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from flyball_audit.attention_masks import AttentionMask, mask_of
from flyball_audit.finding import Gain, Severity, Time
from flyball_audit.index import nodes_below
from flyball_audit.module import Function, last_name
from flyball_audit.products import multiplies, multiplies_named, multiplies_places
from flyball_audit.project import Module, Project
from flyball_audit.rule import LIKELY, SUSPECTED, Match, Rule
from flyball_audit.scores import is_biased, picks_some, serves_else, sources
from flyball_audit.weights import attends, attends_and_returns, attends_unless_asked

_FUSED = re.compile(r"scaled_dot_product_attention|flash_attn|memory_efficient_attention|xformers|flex_attention")
_SOFTMAX = frozenset({"torch.softmax", "torch.nn.functional.softmax", "torch.special.softmax"})


def look(module: Module, project: Project) -> Iterator[Match]:
    """Softmaxes of a product of queries and keys whose result multiplies values and serves nothing else."""
    if "softmax" not in module.source.text.lower():
        return
    fused = _fused(module) if _FUSED.search(module.source.text) and _speaks(module, module.tree) else None
    for function in module.functions if fused is None else _elsewhere(module, fused):
        for call in module.calls_of(function):
            scores = _softmaxed(module, project, call)
            if scores is None or not _is_over_keys(function, call):
                continue
            if not serves_else(module, function, scores) and not picks_some(module, function, scores):
                found = _of_scores(module, function, call, scores)
                yield from found if fused is None else (replace(each, **_BESIDE) for each in found)


def _fused(module: Module) -> list[ast.ClassDef]:
    """The classes that speak of a fused kernel."""
    return [each for each in module.all(ast.ClassDef) if _speaks(module, each)]


def _speaks(module: Module, root: ast.AST) -> bool:
    """Whether code names a fused kernel that the file does not define itself: comments and docstrings are no code."""
    own = {each.name for each in module.functions}
    return any(_FUSED.search(each) and each not in own for each in _named(root))


def _named(root: ast.AST) -> Iterator[str]:
    """The names, imports and texts of code."""
    for each in nodes_below(root):
        if isinstance(each, ast.Name):
            yield each.id
        elif isinstance(each, ast.Attribute):
            yield each.attr
        elif isinstance(each, ast.arg | ast.keyword):
            yield each.arg or ""
        elif isinstance(each, ast.alias):
            yield each.name
        elif isinstance(each, ast.ImportFrom):
            yield each.module or ""
        elif isinstance(each, ast.Constant) and isinstance(each.value, str) and not _is_text(each.value):
            yield each.value


def _is_text(said: str) -> bool:
    """Whether words are meant for readers."""
    return any(map(str.isspace, said.strip()))


def _elsewhere(module: Module, fused: list[ast.ClassDef]) -> Iterator[Function]:
    """The methods of classes of which none that speaks of a fused kernel is a kind, or another name."""
    others = [*(base for each in fused for base in map(ast.unparse, each.bases)), *(each.name for each in fused)]
    for function in module.functions if fused else ():
        holder = module.class_of(function)
        if holder is not None and not any(each.endswith(holder.name) or holder.name.endswith(each) for each in others):
            yield function


def _of_scores(module: Module, function: Function, call: ast.Call, scores: ast.expr) -> Iterator[Match]:
    doubt = _BIASED if is_biased(module, function, scores) else None
    product = _product(module, function, scores) or _of_places(module, function, scores)
    named = _named_product(module, function, scores)
    turned = _product(module, function, scores, turned=True)
    if product is not None:
        if attends(module, function, call):
            yield _match(module, function, scores, product, call, doubt)
        elif attends_unless_asked(module, function, call):
            yield _match(module, function, scores, product, call, _ASKED_FOR)
        elif attends_and_returns(module, function, call):
            yield _match(module, function, scores, product, call, _RETURNED)
    elif named is not None and attends(module, function, call):
        yield _match(module, function, scores, named, call, _NAMED)
    if turned is not None and attends(module, function, call, turned=True):
        yield _match(module, function, scores, turned, call, doubt)


_BESIDE: dict[str, Any] = {
    "severity": Severity.NOTE,
    "confidence": SUSPECTED,
    "because": "other layers in this file use a fused attention kernel, and this one does not seem to",
}
_BIASED = "the bias must be passed as `attn_mask`, which not every fused kernel accepts"
_ASKED_FOR = "the weights are kept or used elsewhere on request: use the fused kernel when nobody requests them"
_RETURNED = "the weights are also returned: the fused kernel works only if no caller uses them"
_NAMED = "the keys are assumed to be transposed by the caller"


def _match(
    module: Module, function: Function, scores: ast.expr, product: ast.expr, call: ast.Call, doubt: str | None
) -> Match:
    """Told where the scores are made, for the fused kernel begins there; in another function at the softmax."""
    beside = module.function_of(product) is module.function_of(call)
    place = product if beside else call
    because = "the scores are a product of queries and keys, and the weights multiply the values"
    mask = AttentionMask.OTHER if doubt is _BIASED else mask_of(module, function, call, scores, product)
    return Match(
        place,
        f"`{module.quote(place)}` is part of a handwritten attention: `{module.quote(call)}`",
        f"{because}; nothing else uses either" if doubt is None else f"{because}; {doubt}",
        LIKELY if doubt is None else SUSPECTED,
        None if doubt is None else Severity.NOTE,
        change=f"{_CHANGES[mask]} {_OTHERS}",
    )


_CHANGES = {
    AttentionMask.NONE: "Use `F.scaled_dot_product_attention(q, k, v)`.",
    AttentionMask.CAUSAL: "Use `F.scaled_dot_product_attention(q, k, v, is_causal=True)`: the mask here is causal.",
    AttentionMask.OTHER: "Use `F.scaled_dot_product_attention(q, k, v, attn_mask=…)` and pass the mask or bias there. "
    "In a boolean `attn_mask`, True marks the positions that take part.",
}
_OTHERS = (
    "Pass dropout as `dropout_p=` (0.0 outside training), and `scale=` if the scores are not divided by the square "
    "root of the head size."
)


def _softmaxed(module: Module, project: Project, call: ast.Call) -> ast.expr | None:
    """What a call takes the softmax of."""
    given = next((each.value for each in call.keywords if each.arg == "input"), call.args[0] if call.args else None)
    if "softmax" in last_name(call).lower() and module.qualified(call.func) in _SOFTMAX:
        return given
    is_layer = isinstance(call.func, ast.Attribute | ast.Call) and module.says_any(("Softmax(",))
    if is_layer and (project.origins.of(module, call.func) == "torch.nn.Softmax()" or _is_chain(module, call.func)):
        return given
    if last_name(call) != "softmax" or module.qualified(call.func) is not None:
        return None
    holder = call.func.value if isinstance(call.func, ast.Attribute) else None  # a tensor's method, or one of several
    return given if holder is None or ast.unparse(holder) == "self" else holder


def _is_chain(module: Module, func: ast.expr) -> bool:
    """Whether its class made a softmax with dropout behind it: `nn.Sequential(nn.Softmax(-1), nn.Dropout(p))`."""
    return any(
        module.qualified(each.func) == "torch.nn.Sequential"
        and [module.qualified(part.func) for part in each.args if isinstance(part, ast.Call)] == _CHAIN
        and isinstance(given := module.parent(each), ast.Assign)
        and ast.unparse(given.targets[0]) == ast.unparse(func)
        and _holder(module, given) is _holder(module, func)
        for each in module.calls_named("Sequential")
    )


def _holder(module: Module, node: ast.AST) -> ast.ClassDef | None:
    function = module.function_of(node)
    return module.class_of(function) if function is not None else None


_CHAIN = ["torch.nn.Softmax", "torch.nn.Dropout"]


def _is_over_keys(function: Function, call: ast.Call) -> bool:
    """Whether the softmax may go along the last dimension: linear attention's goes along another."""
    made = call.func if isinstance(call.func, ast.Call) else call
    given = (*made.args, *(each.value for each in made.keywords if each.arg == "dim"))
    along = {ast.unparse(each) for each in given}
    return not along & {"-2", "-3", "0"} and ("1" not in along or _FLAT.search(ast.unparse(function)) is not None)


_FLAT = re.compile(r"\.t\(\)|\.T\b|\bmm\(|\.transpose\((0, 1|1, 0)\)")
"""Says that a product is of two matrices, not of a batch of them: then dimension 1 is the last."""


def _product(module: Module, function: Function, scores: ast.expr, *, turned: bool = False) -> ast.expr | None:
    """The product q kᵀ that scores are, scaled and masked; turned: qᵀ k."""
    made_of = sources(module, function, scores)
    return next((each.node for each in made_of if multiplies(module, each.function, each.node, turned=turned)), None)


def _of_places(module: Module, function: Function, scores: ast.expr) -> ast.expr | None:
    """The product qᵀ k of pictures whose rows and columns were made one axis, behind their channels."""
    made_of = sources(module, function, scores)
    return next((each.node for each in made_of if multiplies_places(module, each.function, each.node)), None)


def _named_product(module: Module, function: Function, scores: ast.expr) -> ast.expr | None:
    """The product of what is called queries and keys, which come as arguments."""
    made_of = sources(module, function, scores)
    return next((each.node for each in made_of if multiplies_named(each.function, each.node)), None)


RULE = Rule(
    id="handwritten-attention",
    severity=Severity.WARNING,
    summary="Attention is computed by hand.",
    cause="The scores, mask, softmax, dropout and product run in separate kernels. Each of them reads and writes a "
    "matrix of sequence length × sequence length.",
    change="Use `F.scaled_dot_product_attention(q, k, v)`: one kernel that never stores this matrix. If there is a "
    "mask, pass it as `attn_mask=`; if it only hides later positions, pass `is_causal=True` instead. Pass dropout as "
    "`dropout_p=` (0.0 outside training).",
    expected="1.27× for nanoGPT (143 to 113 ms a batch on an A100), more with longer sequences; memory grows with "
    "the length instead of its square",
    source="PyTorch's “Accelerating Large Language Models with Accelerated Transformers”: "
    "https://pytorch.org/blog/accelerating-large-language-models/; FlashAttention: https://arxiv.org/abs/2205.14135",
    before="scores = (q @ k.transpose(-2, -1) * scale).masked_fill(later, float('-inf'))\n"
    "y = dropout(softmax(scores, dim=-1)) @ v",
    after="y = F.scaled_dot_product_attention(q, k, v, dropout_p=p if self.training else 0.0, is_causal=True)",
    look=look,
    words=("softmax", "Softmax"),
    gain=Gain(Time.COMPUTE, 1.27),
)
