"""`mask-in-forward`: a mask that depends on shapes alone is made anew in every forward pass."""

import ast
import re
from collections.abc import Iterator

from flyball_audit.definition import Definition
from flyball_audit.finding import Gain, Severity, Time
from flyball_audit.flow.values import Tag
from flyball_audit.module import Function, last_name
from flyball_audit.names import code_of
from flyball_audit.project import Module, Project
from flyball_audit.regions import Region, reached
from flyball_audit.rule import CERTAIN, LIKELY, SUSPECTED, Match, Rule
from flyball_audit.shapes import follows_from_shapes, is_kept
from flyball_audit.unasked import is_off_by_default
from flyball_audit.unseen import noted

MASKS = ("tril", "triu", "generate_square_subsequent_mask", "arange")
"""In files without these words no mask is made."""

TRIANGLES = frozenset({"tril", "triu", "tril_", "triu_"})
MAKERS = frozenset({"generate_square_subsequent_mask"})

SCORING = frozenset({"softmax", "scaled_dot_product_attention", "masked_fill", "masked_fill_", "where", "baddbmm"})
"""Calls in the layer that uses the mask: it is made once for each layer, not once for the model."""

FUSED = frozenset({
    "scaled_dot_product_attention", "flash_attn_func", "flash_attn_varlen_func", "memory_efficient_attention",
    "flex_attention",
})  # fmt: skip
"""Kernels that make up a causal mask as they go."""


def look(module: Module, project: Project) -> Iterator[Match]:
    """The masks that the forward passes of the module's classes make."""
    if not any(each.says_any(MASKS) for each in (module, *project.imports_of(module))):
        return
    for holder in module.all(ast.ClassDef):
        definition = Definition(module, holder)
        forward = next((each for each in holder.body if isinstance(each, Function) and each.name == "forward"), None)
        if forward is not None and project.flow.is_module(definition):
            told = [*_in_forward(project, Region(module, forward))]
            yield from told
            yield from _in_methods(project, module, holder, {match.node for match in told})
    if module.says_any(("mask",)):
        yield from _in_functions(module, project)


def _in_functions(module: Module, project: Project) -> Iterator[Match]:
    """The masks of functions that are called after them, which a step runs, or nobody here."""
    for each in module.functions:
        alone = module.class_of(each) is None and module.function_of(each) is None
        if alone and _GIVING.search(each.name) and _may_be_run(project, module, each):
            yield from (noted(match, module, each) for match in _in_forward(project, Region(module, each)))


def _may_be_run(project: Project, module: Module, function: Function) -> bool:
    """Whether a training step is seen to run a function, or no file here calls it."""
    called = next(iter(project.flow.callers(function.name, module)), None) is not None
    return not called or function in project.loops.trained


def _in_methods(project: Project, module: Module, holder: ast.ClassDef, told: set[ast.AST]) -> Iterator[Match]:
    """The masks of methods that are called after them, and that nobody is seen to run."""
    for each in holder.body:
        if isinstance(each, Function) and _GIVING.search(each.name) and not _is_run_once(module, each):
            found = (match for match in _in_forward(project, Region(module, each)) if match.node not in told)
            yield from (noted(match, module, each) for match in found)


def _is_run_once(module: Module, method: Function) -> bool:
    """Whether a constructor calls a method."""
    around = (module.function_of(each) for each in module.calls_named(method.name))
    return any(each is not None and each.name == "__init__" for each in around)


_GIVING = re.compile(r"^_?(get|make|create|generate|compute|causal)_\w*mask|^_?mask_\w+|_mask$")
"""Names of methods that give a mask."""


def _in_forward(project: Project, forward: Region) -> Iterator[Match]:
    for region in reached(project, forward):
        function = region.root
        if not isinstance(function, Function) or (region.root is not forward.root and _is_forward(region)):
            continue
        if _EXPORTS.search(function.name):
            continue
        masks = [each for each in _masks(project, region) if _is_whole(region.module, each)]
        masks += _positions(project, region) if not masks else ()
        for mask in masks:
            if not is_kept(region.module, mask, function) and not _is_cached(region, mask):
                yield _match(forward, region, mask, asked=not is_off_by_default(project, region, mask))


_EXPORTS = re.compile(r"onnx|export", re.IGNORECASE)
"""In names of functions that write a model out, for which kernels are put together otherwise."""


def _is_forward(region: Region) -> bool:
    """The forward pass of another module, which is looked at by itself."""
    return isinstance(region.root, Function) and region.root.name == "forward"


def _masks(project: Project, region: Region) -> Iterator[ast.Call | ast.Compare]:
    """The triangles and comparisons of positions that follow from shapes alone, and that no data joins."""
    flow, module = project.flow, region.module
    for call in region.all(ast.Call):
        made = last_name(call) in MAKERS or (last_name(call) in TRIANGLES and follows_from_shapes(flow, module, call))
        if made and not _joins_data(project, region, call):
            yield call
    for compare in region.all(ast.Compare):
        sides = [compare.left, *compare.comparators]
        both = all(follows_from_shapes(flow, module, each) for each in sides)
        if (
            (both or _is_band(project, module, compare))
            and any("arange" in code_of(_source(module, each)) for each in sides)
            and not _joins_data(project, region, compare)
        ):
            yield compare


def _positions(project: Project, region: Region) -> Iterator[ast.Call]:
    """The first positions in the text of which a table of sines is computed: it is the same in each pass."""
    waves = any(last_name(each) in _WAVES for each in region.all(ast.Call))
    for call in region.all(ast.Call) if waves else ():
        ranges = last_name(call) in _RANGES and region.module.qualified(call.func) is not None
        if ranges and follows_from_shapes(project.flow, region.module, call):
            yield call
            return


_WAVES = frozenset({"sin", "cos", "sin_", "cos_"})
_RANGES = frozenset({"arange", "linspace"})


def _is_band(project: Project, module: Module, compare: ast.Compare) -> bool:
    """Whether the distances of all places from one another are compared with a setting."""
    left, limits = compare.left, compare.comparators
    while isinstance(left, ast.Call) and last_name(left) == "abs":
        left = left.args[0] if left.args else left.func.value if isinstance(left.func, ast.Attribute) else left
    if not isinstance(left, ast.BinOp) or not isinstance(left.op, ast.Sub):
        return False
    spread = [any(isinstance(each, ast.Subscript) for each in ast.walk(side)) for side in (left.left, left.right)]
    settings = all(isinstance(each, ast.Attribute) and not project.flow.value(module, each).tags for each in limits)
    return any(spread) and settings and follows_from_shapes(project.flow, module, left)


def _source(module: Module, node: ast.expr) -> ast.AST:
    """The statement's function, to look for what made a side."""
    return module.function_of(node) or node


def _is_whole(module: Module, node: ast.AST) -> bool:
    """Only the outermost part of one expression counts, and of several comparisons the first."""
    statement = module.statement(node)
    kinds = (ast.Call, ast.Compare)
    for each in ast.walk(statement):
        if each is node:
            return True
        if isinstance(each, kinds) and _marks_mask(each):
            return False
    return True


def _marks_mask(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return last_name(node) in TRIANGLES | MAKERS
    return isinstance(node, ast.Compare) and not any(isinstance(each, ast.Constant) for each in node.comparators)


def _joins_data(project: Project, region: Region, node: ast.AST) -> bool:
    """Whether the mask is combined with a tensor of this batch's data before anything else is done with it."""
    below = node
    for above in region.module.ancestors(node):
        if isinstance(above, ast.stmt):
            return False
        if isinstance(above, ast.BinOp) and isinstance(above.op, ast.BitAnd | ast.BitOr | ast.Mult):
            other = above.right if below is above.left else above.left
            value = project.flow.value(region.module, other)
            if value.has(Tag.DEVICE) and not follows_from_shapes(project.flow, region.module, other):
                return True
        below = above
    return False


def _is_cached(region: Region, mask: ast.AST) -> bool:
    """Made only if what is kept does not fit: `if self.mask is None or self.mask.size(0) < length`."""
    tests = [ast.unparse(each.test) for each in region.guards(mask) if isinstance(each.test, ast.expr)]
    return any(
        "self." in each
        and any(word in each for word in (" is None", "hasattr", "size", "shape", "!=", "not in", "<", ">"))
        for each in tests
    )


def _is_fallback(region: Region, mask: ast.expr) -> bool:
    """Whether it is made only where a fused kernel, which another branch runs, is not used."""
    return any(_other_way_is_fused(module, node) for module, node in (*region.calls, (region.module, mask)))


def _other_way_is_fused(module: Module, node: ast.AST) -> bool:
    below = node
    for above in module.ancestors(node):
        if isinstance(above, Function):
            return False
        if isinstance(above, ast.If) and below is not above.test:
            others = above.orelse if below in above.body else above.body
            calls = (each for other in others for each in ast.walk(other) if isinstance(each, ast.Call))
            if any(last_name(each) in FUSED for each in calls):
                return True
        below = above
    return False


def _match(forward: Region, region: Region, mask: ast.Call | ast.Compare, *, asked: bool) -> Match:
    table = isinstance(mask, ast.Call) and last_name(mask) in _RANGES
    per_layer = any(last_name(each) in SCORING for each in forward.all(ast.Call))
    where = (
        "each layer creates the same n × n tensor again"
        if per_layer
        else "each forward pass creates the same tensor again"
    )
    fallback = _is_fallback(region, mask)
    sure = per_layer and asked and not fallback and not table
    return Match(
        mask,
        f"`{region.module.quote(mask)}`{', with its sines,' if table else ''} is created in every forward pass",
        f"it depends only on shapes and constants; {where}{', unless a fused kernel is used' if fallback else ''}"
        f"{'' if asked else '; it runs only with an option that is off by default'}",
        CERTAIN if sure else SUSPECTED if fallback or not asked else LIKELY,
        Severity.WARNING if sure else Severity.NOTE,
        module=region.module,
    )


RULE = Rule(
    id="mask-in-forward",
    severity=Severity.WARNING,
    summary="A mask with constant content is created in every forward pass.",
    cause="Each call allocates an n × n tensor and fills it with several small kernels, in every layer and step.",
    change="If the mask only hides later positions, use `scaled_dot_product_attention(…, is_causal=True)`. "
    "Otherwise create it once: `self.register_buffer('mask', …, persistent=False)`.",
    expected="up to 1.2× for small transformers by our estimate, no published figure; with `is_causal=True`, "
    "attention also skips the hidden part",
    source="PyTorch's documentation of `scaled_dot_product_attention`: "
    "https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html",
    before="def forward(self, x):\n    mask = torch.tril(torch.ones(t, t, device=x.device))",
    after="def __init__(self, n):\n    self.register_buffer('mask', torch.tril(torch.ones(n, n)), persistent=False)",
    look=look,
    words=("forward",),
    gain=Gain(Time.COMPUTE, 1.2),
)
