"""Data loaders: the calls that make them, their arguments, and what their data sets do for a sample."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flyball_planner.audit.definition import Definition
from flyball_planner.audit.flow.values import Tag, Value
from flyball_planner.audit.module import Module, last_name

if TYPE_CHECKING:
    from flyball_planner.audit.project import Project

PARAMETERS = (
    "dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn", "pin_memory",
    "drop_last", "timeout", "worker_init_fn",
)  # fmt: skip
"""Of `torch.utils.data.DataLoader`, in their order; the rest are keywords alone."""


DEEPEST = 3
"""Functions, one handing a loader to the other, through which its batches are followed."""


@dataclass(frozen=True)
class Loader:
    """One call of `torch.utils.data.DataLoader`, or of a class derived from it that takes the same arguments."""

    module: Module
    call: ast.Call
    dataset: Value
    values: tuple[tuple[str, Value], ...]

    @property
    def is_complete(self) -> bool:
        """Whether all arguments are seen: none is unpacked."""
        unpacked = any(isinstance(each, ast.Starred) for each in self.call.args)
        return not unpacked and all(each.arg for each in self.call.keywords)

    def argument(self, name: str) -> ast.expr | None:
        """An argument's expression, by keyword or position; None if it is not given, or hidden by unpacking."""
        for keyword in self.call.keywords:
            if keyword.arg == name:
                return keyword.value
        place = PARAMETERS.index(name) if name in PARAMETERS else len(self.call.args)
        before = self.call.args[: place + 1]
        if len(before) <= place or any(isinstance(each, ast.Starred) for each in before):
            return None
        return before[place]

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
        all_calls = module.all(ast.Call) if project.speaks_of(module, "oader") else ()
        calls = (call for call in all_calls if _makes_loader(module, project, call))
        found = project.loaders[module] = tuple(_loader(module, project, call) for call in calls)
    return found


def _loader(module: Module, project: "Project", call: ast.Call) -> Loader:
    given = Loader(module, call, Value(), ())
    names = {*PARAMETERS, *(each.arg for each in call.keywords if each.arg)}
    expressions = [(name, value) for name in sorted(names) if (value := given.argument(name)) is not None]
    values = tuple((name, project.flow.value(module, each)) for name, each in expressions)
    unpacked = [project.flow.value(module, each.value) for each in call.keywords if each.arg is None]
    values += tuple(field for each in unpacked for field in each.fields)
    return Loader(module, call, dict(values).get("dataset", Value()), values)


def named_for(loader: Loader) -> str:
    """What a loader is called: the names that it is given, and the function that gives it back."""
    module = loader.module
    statement = module.statement(loader.call)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    function = module.function_of(loader.call) if isinstance(statement, ast.Return) or not targets else None
    return " ".join([*(ast.unparse(each) for each in targets), *([function.name] if function else [])])


def streams(project: "Project", loader: Loader) -> bool:
    """Whether it reads a stream, which several workers would each read whole, unless the data set shares it out."""
    own = loader.dataset_class
    iterable = own is not None and any(each.endswith("IterableDataset") for each in project.flow.bases(own))
    return iterable or loader.constant("batch_size") is None


def loops_over(project: "Project", loader: Loader) -> list[tuple[Module, ast.For]]:
    """The loops whose iterable is, or wraps, what the call makes."""
    return project.loops.over_values.get(loader.call, [])


def behind(project: "Project", module: Module, node: ast.expr, depth: int = DEEPEST) -> Iterator[Loader]:
    """The loaders whose batches an expression gives, also through what is handed one: `cycle(loader)`."""
    for part in ast.walk(node):
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
    for called in module.called_names:
        for call in module.calls_named(called) if called.endswith(_SETTINGS) else ():
            name = project.flow.name(module, call.func) or ""
            if name.startswith(("transformers.", "trl.")):
                yield call


def keyword(call: ast.Call, name: str) -> ast.keyword | None:
    """A keyword of a call."""
    return next((each for each in call.keywords if each.arg == name), None)


def _makes_loader(module: Module, project: "Project", call: ast.Call) -> bool:
    if "oader" not in last_name(call) and not isinstance(call.func, ast.Name):
        return False
    return module.qualified(call.func) == "torch.utils.data.DataLoader" or (
        "oader" in last_name(call) and project.flow.value(module, call.func).name == "torch.utils.data.DataLoader"
    )


_CHEAP_CALLS = frozenset({
    "len", "int", "float", "slice", "tensor", "as_tensor", "from_numpy", "long", "float32", "clone", "astype",
    "to", "copy", "range", "min", "max", "dict", "list", "tuple", "int64", "type", "reshape", "view",
    "unsqueeze", "squeeze", "permute", "transpose", "numel", "size", "isinstance", "IndexError", "randint",
    "contiguous", "stack", "IntTensor", "LongTensor", "FloatTensor", "Tensor", "item", "tolist", "narrow",
    "select", "flatten", "array", "asarray", "bool", "narrow_copy", "numpy", "index_select",
})  # fmt: skip
"""Calls in `__getitem__` that take microseconds."""


def costs_little(project: "Project", loader: Loader) -> bool:
    """Whether a sample is a slice of what already lies in memory, or what is loaded is a list or a tensor."""
    if loader.dataset_made_by in {"torch.utils.data.TensorDataset", "builtins.range"} or loader.dataset.tags & {
        Tag.TENSOR,
        Tag.DEVICE,
        Tag.HOST,
    }:
        return True
    if loader.dataset.items is not None or (loader.dataset.element is not None and loader.dataset.definition is None):
        return True
    own = loader.dataset_class
    if own is None:
        return False
    for name in ("__getitem__", "__getitems__", "__iter__"):
        method = project.flow.method(own, name)
        if method is not None:
            return all(last_name(each) in _CHEAP_CALLS for each in method.module.calls_of(method.node))
    return False
