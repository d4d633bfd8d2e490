"""`whole-file-per-item`: a data set reads the same whole file for each of its samples."""

import ast
import re
from collections.abc import Iterator

from flyball_planner.audit.definition import Definition
from flyball_planner.audit.finding import Severity
from flyball_planner.audit.given import argument, is_constant
from flyball_planner.audit.module import Function
from flyball_planner.audit.project import Module, Project
from flyball_planner.audit.regions import Region, reached
from flyball_planner.audit.rule import LIKELY, Match, Rule

_READING = re.compile(
    r"^pandas\.read_(csv|parquet|pickle|json|excel|feather|hdf|table)$|^numpy\.(load|loadtxt|genfromtxt)$|^torch\.load$"
    r"|^(json|pickle|yaml|joblib|msgpack)\.(load|safe_load)$|^scipy\.io\.loadmat$|^safetensors\.torch\.load_file$"
)
_KEEPING = re.compile(r"cache", re.IGNORECASE)


def look(module: Module, project: Project) -> Iterator[Match]:
    """Reads in `__getitem__`, and in what it calls, of files that do not depend on the index."""
    for function in module.functions:
        if function.name == "__getitem__" and _is_dataset(project, module, function):
            for region in reached(project, Region(module, function)):
                yield from _reads(region, function)


def _reads(region: Region, item: Function) -> Iterator[Match]:
    root = region.root
    kept = isinstance(root, Function) and any(_KEEPING.search(ast.unparse(each)) for each in root.decorator_list)
    index = item.args.args[1].arg if len(item.args.args) > 1 else ""
    depends = _depending(region, {index} if not region.calls else set())
    if kept or any(_names(each) & _depending_above(item, index) for _, call in region.calls for each in call.args):
        return
    for call in region.all(ast.Call):
        if _reads_all(region, call) and not _names(call.args[0]) & depends:
            yield Match(
                call,
                f"`{region.module.quote(call)}` reads the whole file for each sample",
                f"`__getitem__` runs it, and its path does not depend on `{index}`",
                LIKELY,
                module=region.module,
            )


def _reads_all(region: Region, call: ast.Call) -> bool:
    if not call.args or _is_mapped(call) or region.guards(call):
        return False
    return bool(_READING.search(region.module.qualified(call.func) or ""))


def _is_dataset(project: Project, module: Module, function: Function) -> bool:
    holder = module.class_of(function)
    if holder is None:
        return False
    return any(each.startswith("torch.utils.data.") for each in project.flow.bases(Definition(module, holder)))


def _is_mapped(call: ast.Call) -> bool:
    mode = argument(call, "mmap_mode", 1) or argument(call, "mmap")
    return mode is not None and not is_constant(mode, None)


def _depending_above(item: Function, index: str) -> set[str]:
    """The names of `__getitem__` that follow from the index."""
    return _closure({index}, [*ast.walk(item)])


def _depending(region: Region, known: set[str]) -> set[str]:
    """The names of a region that follow from the index, or from arguments of the function that is called."""
    if region.calls and isinstance(region.root, Function):
        known = {each.arg for each in region.root.args.args} - {"self"}
        known = known if any(call.args or call.keywords for _, call in region.calls[-1:]) else set()
    return _closure(known, [*ast.walk(region.root)])


def _closure(known: set[str], nodes: list[ast.AST]) -> set[str]:
    """What assignments and `with` make of names."""
    for _ in range(2):  # a later line may feed an earlier one of the list
        for each in nodes:
            if isinstance(each, ast.Assign) and _names(each.value) & known:
                known = known | {name for target in each.targets for name in _names(target)}
            elif (
                isinstance(each, ast.withitem) and each.optional_vars is not None and _names(each.context_expr) & known
            ):
                known = known | _names(each.optional_vars)
    return known


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} - {"self"}


RULE = Rule(
    id="whole-file-per-item",
    severity=Severity.WARNING,
    summary="A data set reads one whole file anew for each sample.",
    cause="Every sample costs reading and parsing everything; an epoch reads the file as often as it has samples.",
    change="Read it once in `__init__`, or map it (`np.load(path, mmap_mode='r')`, Arrow, HDF5) and take the row.",
    expected="up to as many times less reading as there are samples",
    source="counting reads",
    before="def __getitem__(self, index):\n    return pd.read_csv(self.path).iloc[index]",
    after="def __init__(self, path):\n    self.frame = pd.read_csv(path)\n\ndef __getitem__(self, index):\n    return "
    "self.frame.iloc[index]",
    look=look,
    words=("__getitem__",),
)
