"""Data loaders: the calls that make them, their arguments, and what their data sets do for a sample."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flyball_audit.definition import Definition
from flyball_audit.finding import Action, Change, Edit
from flyball_audit.flow.values import Literal, Value
from flyball_audit.given import argument, constant_defaults, hides_arguments
from flyball_audit.index import nodes_below
from flyball_audit.module import Function, Module, last_name
from flyball_audit.names import code_of
from flyball_audit.unpacked import entries_of

if TYPE_CHECKING:
    from flyball_audit.project import Project

PARAMETERS = (
    "dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn", "pin_memory",
    "drop_last", "timeout", "worker_init_fn",
)  # fmt: skip
"""Of `torch.utils.data.DataLoader`, in their order; the rest are keywords alone."""


LOADERS = frozenset({
    "torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader", "monai.data.DataLoader",
    "torchdata.stateful_dataloader.StatefulDataLoader", "torch_geometric.loader.DataLoader",
    "torch_geometric.data.DataLoader", "torch_geometric.loader.NeighborLoader", "dgl.dataloading.GraphDataLoader",
    "torch_geometric.loader.LinkNeighborLoader", "torch_geometric.loader.DenseDataLoader",
    "torch_geometric.loader.DataListLoader", "torch_geometric.data.DataListLoader", "dgl.dataloading.DataLoader",
    "torch_geometric.loader.HGTLoader", "torch_geometric.loader.NeighborSampler",
    "torch_geometric.data.NeighborSampler", "dgl.dataloading.NodeDataLoader", "dgl.dataloading.EdgeDataLoader",
    "torch_geometric.loader.dataloader.DataLoader", "torch_geometric.data.dataloader.DataLoader",
    "torchio.SubjectsLoader", "speechbrain.dataio.dataloader.SaveableDataLoader",
})  # fmt: skip
"""PyTorch's own, and those derived from it that have no workers either, and pin nothing, unless they are told to."""

DEEPEST = 3
"""Functions, one handing a loader to the other, through which its batches are followed."""


@dataclass(frozen=True)
class Loader:
    """One call of `torch.utils.data.DataLoader`, or of a class derived from it that takes the same arguments."""

    module: Module
    call: ast.Call
    dataset: Value
    values: tuple[tuple[str, Value], ...]
    later: tuple[ast.Call, ...] | None = ()
    """Of `partial(DataLoader, …)`: the calls that add the rest; None if they are not known."""
    within: tuple[str, ...] = ()
    """Those that stand elsewhere: in a function that hands its keywords on to a loader, in a dict that is unpacked."""
    unpacks_unknown: bool = False
    """Whether `**` may hand over anything: no dict in the code tells what."""
    entries: tuple[tuple[str, ast.expr], ...] = ()
    """Of the dicts that are unpacked, in this file: what they hold for certain."""

    def misses(self, name: str) -> bool:
        """Whether nobody gives an argument, as far as is seen."""
        return self.argument(name) is None and self.is_complete and name not in self.within

    @property
    def is_complete(self) -> bool:
        """Whether all arguments are seen: none is unpacked."""
        calls = (self.call, *(self.later or ()))
        unpacked = any(isinstance(each, ast.Starred) for call in calls for each in call.args)
        return self.later is not None and not unpacked and not self.unpacks_unknown

    def argument(self, name: str) -> ast.expr | None:
        """An argument's expression, by keyword, position or entry of a dict that is unpacked; None if there is none."""
        for keyword in (keyword for call in (self.call, *(self.later or ())) for keyword in call.keywords):
            if keyword.arg == name:
                return keyword.value
        if _is_partial(self.call):
            return dict(self.entries).get(name)
        place = PARAMETERS.index(name) if name in PARAMETERS else len(self.call.args)
        before = self.call.args[: place + 1]
        if len(before) <= place or any(isinstance(each, ast.Starred) for each in before):
            return dict(self.entries).get(name)
        return before[place]

    def setting(self, name: str, text: str) -> Edit | None:
        """The edit that gives an argument another value; None where it is told elsewhere, or in several places."""
        entry = dict(self.entries).get(name)
        if entry is not None:
            return Edit((Change(Action.REPLACE, self.module.span(entry), text),))
        change = Change(Action.SET_ARGUMENT, self.module.span(self.call), text, name)
        return None if name in self.within else Edit((change,))

    def constant(self, name: str) -> object:
        """An argument's value, if it is the same constant in every run; `...` if nobody knows, or it is not given."""
        literal = dict(self.values)[name].literal if name in dict(self.values) else None
        return literal.value if literal is not None else ...

    @property
    def dataset_class(self) -> Definition | None:
        """The project's class whose instance is loaded."""
        return self.dataset.definition if self.dataset.is_instance else None

    @property
    def dataset_made_by(self) -> str | None:
        """The library's class that was called to make what is loaded."""
        return self.dataset.made_by

    @property
    def dataset_words(self) -> str:
        """What is loaded, in words."""
        own = self.dataset_class
        if own is not None and isinstance(own.node, ast.ClassDef):
            return f"`{own.node.name}`"
        first = self.argument("dataset")
        return f"`{self.module.quote(first)}`" if first is not None else "the data set"


def loaders(module: Module, project: "Project") -> tuple[Loader, ...]:
    """The calls in a module that make PyTorch's own loader."""
    found = project.loaders.get(module)
    if found is None:
        calls = (call for call in _candidates(module, project) if _makes_loader(module, project, call))
        found = project.loaders[module] = tuple(_loader(module, project, call) for call in calls)
    return found


def _loader(module: Module, project: "Project", call: ast.Call) -> Loader:
    inner = _inner(module, project, call)
    within = tuple(each.arg for each in inner.keywords if each.arg) if inner is not None else ()
    later = _later(module, call)
    rest = [word.value for each in (call, *(later or ())) for word in each.keywords if word.arg is None]
    dicts = [entries_of(project, module, each) for each in rest]
    held = [each for entries in dicts for each in entries or ()]
    within += tuple(each.key for each in held)
    entries = tuple((each.key, each.value) for each in held if each.module is module and within.count(each.key) == 1)
    given = Loader(module, call, Value(), (), later, within, None in dicts, entries)
    names = {*PARAMETERS, *(each.arg for each in call.keywords if each.arg), *dict(entries)}
    expressions = [(name, value) for name in sorted(names) if (value := given.argument(name)) is not None]
    values = tuple((name, value_or_default(project, module, each)) for name, each in expressions)
    unpacked = [project.flow.value(module, each.value) for each in call.keywords if each.arg is None]
    values += tuple(field for each in unpacked for field in each.fields)
    return replace(given, dataset=dict(values).get("dataset", Value()), values=values)


def _inner(module: Module, project: "Project", call: ast.Call) -> ast.Call | None:
    """The loader that a called function of the project makes, and hands all its keywords on to; a class's own too."""
    if "oader" not in last_name(call):
        return None
    own = project.find(module.qualified(call.func))
    if own is not None and isinstance(own.node, ast.ClassDef) and _is_loader(project, own):
        own = project.flow.method(own, "__init__")
    if own is None or not isinstance(own.node, Function) or own.node.args.kwarg is None:
        return None
    for each in own.module.calls_of(own.node):
        rest = [word.value for word in each.keywords if word.arg is None]
        whole = len(rest) == 1 and isinstance(rest[0], ast.Name) and rest[0].id == own.node.args.kwarg.arg
        begins = last_name(each) == "__init__" and _begins_loader(own.module, project, each)
        if whole and (begins or own.module.qualified(each.func) in LOADERS):
            return each
    return None


def _is_partial(call: ast.Call) -> bool:
    return last_name(call) == "partial"


def _later(module: Module, call: ast.Call) -> tuple[ast.Call, ...] | None:
    """The calls of the variable that holds a `partial(DataLoader, …)`; None if it goes elsewhere."""
    if not _is_partial(call):
        return ()
    held = module.parent(call)
    if not isinstance(held, ast.Assign) or not isinstance(held.targets[0], ast.Name):
        return None
    name = held.targets[0].id
    calls = tuple(module.calls_named(name))
    called: set[ast.expr] = {each.func for each in calls}
    called |= {each.args[0] for each in module.calls_named("map") if each.args}  # which adds the data set alone
    reads = (each for each in module.all(ast.Name) if each.id == name and isinstance(each.ctx, ast.Load))
    known = [each in called for each in reads]
    return calls if known and all(known) else None


def value_or_default(project: "Project", module: Module, node: ast.expr) -> Value:
    """What an argument is; of a function's own argument, its default, where all calls that are seen leave it out."""
    value = project.flow.value(module, node)
    function = module.function_of(node)
    if value.literal is not None or not isinstance(node, ast.Name) or function is None:
        return value
    default = constant_defaults(function).get(node.id)
    return value if default is None or _is_handed(project, module, function, node.id) else _constant(default, value)


def _constant(node: ast.Constant, otherwise: Value) -> Value:
    return otherwise._replace(literal=Literal(node.value))


def _is_handed(project: "Project", module: Module, function: Function, name: str) -> bool:
    """Whether a call may hand an argument over; also if no call is seen."""
    own = 1 if module.class_of(function) is not None else 0
    place = next((n for n, each in enumerate(function.args.args) if each.arg == name), len(function.args.args)) - own
    holder = module.class_of(function) if function.name == "__init__" else None
    seen = False
    for caller, call in project.flow.callers(holder.name if holder else function.name, module):
        if Definition(module, function) in project.flow.callees(caller, call):
            seen = True
            if hides_arguments(call) or argument(call, name, place) is not None:
                return True
    return not seen


def named_for(loader: Loader) -> str:
    """What a loader is called: the names that it is given, and the function that gives it back."""
    module = loader.module
    statement = module.statement(loader.call)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    function = module.function_of(loader.call) if isinstance(statement, ast.Return) or not targets else None
    return " ".join([*(ast.unparse(each) for each in targets), *([function.name] if function else [])])


def loops_over(project: "Project", loader: Loader) -> list[tuple[Module, ast.For]]:
    """The loops whose iterable is, or wraps, what the call makes."""
    return project.loops.over_values.get(loader.call, [])


def behind(project: "Project", module: Module, node: ast.expr, depth: int = DEEPEST) -> Iterator[Loader]:
    """The loaders whose batches an expression gives, also through what is handed one: `cycle(loader)`."""
    for part in nodes_below(node):
        makers = project.flow.value(module, part).makers if isinstance(part, ast.expr) else ()
        for home, made in makers:
            own = [each for each in loaders(home, project) if each.call is made]
            yield from own
            if not own and depth and made is not node:
                for each in (*made.args, *(keyword.value for keyword in made.keywords)):
                    yield from behind(project, home, each, depth - 1)


_SETTINGS = ("TrainingArguments", "SFTConfig", "DPOConfig", "GRPOConfig")


def trainer_settings(module: Module, project: "Project") -> Iterator[ast.Call]:
    """The calls that make `TrainingArguments` of transformers, or what derives from it."""
    for called in module.called_names if module.says_any(_SETTINGS) else ():
        for call in module.calls_named(called) if called.endswith(_SETTINGS) else ():
            name = project.flow.name(module, call.func) or ""
            if name.startswith(("transformers.", "trl.")):
                yield call


def keyword(call: ast.Call, name: str) -> ast.keyword | None:
    """A keyword of a call."""
    return next((each for each in call.keywords if each.arg == name), None)


def _candidates(module: Module, project: "Project") -> Iterator[ast.Call]:
    """The calls that may make a loader, by their names."""
    if project.speaks_of(module, "oader"):
        names = {each for each in module.called_names if each in {"__init__", "partial"} or "oader" in each}
        yield from (each for each in module.all(ast.Call) if type(each.func) is ast.Name or last_name(each) in names)


def _makes_loader(module: Module, project: "Project", call: ast.Call) -> bool:
    name = last_name(call)
    if name == "__init__":
        return _begins_loader(module, project, call)
    if name == "partial":
        of = call.args[0] if call.args else None
        partial = module.qualified(call.func) == "functools.partial"
        return partial and of is not None and module.qualified(of) in LOADERS
    full = module.qualified(call.func)
    if full in LOADERS or ("oader" in name and project.flow.value(module, call.func).name in LOADERS):
        return True
    own = project.find(full) or _own_class(module, call)
    if own is None and name == "DataLoader" and keyword(call, "num_workers") is not None:
        return True  # of a package that is not at hand, which takes what PyTorch's own takes
    if own is not None and isinstance(own.node, Function):
        return _inner(module, project, call) is not None
    if own is None or not _is_loader(project, own):
        return False
    return project.flow.method(own, "__init__") is None or _inner(module, project, call) is not None


def _own_class(module: Module, call: ast.Call) -> Definition | None:
    """The class around a method that makes an instance of it: `cls(dataset, …)`."""
    function = module.function_of(call)
    holder = module.class_of(function) if function is not None and code_of(call.func) == "cls" else None
    return Definition(module, holder) if holder is not None else None


def _begins_loader(module: Module, project: "Project", call: ast.Call) -> bool:
    """Whether a class derived from a loader hands its arguments on: `super().__init__(dataset, …)`."""
    function = module.function_of(call)
    holder = module.class_of(function) if function is not None and function.name == "__init__" else None
    above = call.func.value if isinstance(call.func, ast.Attribute) else None
    is_super = isinstance(above, ast.Call) and module.qualified(above.func) == "builtins.super"
    return is_super and holder is not None and _is_loader(project, Definition(module, holder))


def _is_loader(project: "Project", definition: Definition) -> bool:
    return isinstance(definition.node, ast.ClassDef) and bool(project.flow.bases(definition) & LOADERS)
