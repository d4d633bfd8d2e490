"""Run training code on the CPU: stand-ins for devices, loaders, data and packages, and a record of what the code did.

An accelerator is played by the CPU, so that values can be compared, or by PyTorch's meta device, so that a tensor on
the wrong device shows.
"""

import contextlib
import io
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from types import FrameType, ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is no dependency of the audit; with it these run too")

_GRAPH = re.compile(r",? ?(grad_fn=<\w+>|requires_grad=True)")
_PLAIN = (int, float, complex, str, bytes, bool, type(None))
_DEEPEST = 4
_CHANGED = {"non_blocking"}  # edits may change this argument, and nothing that follows from it


class Free(torch.nn.Module):  # type: ignore[misc]  # to the checker torch is unknown
    """A module with one weight that computes what a function says."""

    def __init__(self, compute: Callable[..., Any]) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((3,), 0.5))
        self.compute = compute

    def forward(self, *given: Any, **named: Any) -> Any:
        """Apply the function to the weight and everything that was passed."""
        return self.compute(self.weight, *given, **named)


def mean_of(weight: Any, *given: Any, **named: Any) -> Any:
    """Return a number that depends on the weight and on every tensor that was passed."""
    return sum((each.float().mean() for each in _tensors((given, named))), start=0.0) * weight.mean()


def _tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        yield from (each for part in value.values() for each in _tensors(part))
    elif isinstance(value, list | tuple):
        yield from (each for part in value for each in _tensors(part))


@dataclass
class Inputs:
    """Small models, optimizers and data; created again for each run. Models are on the device, data is not."""

    device: str = "cpu"

    def __post_init__(self) -> None:
        torch.manual_seed(0)
        self.net = torch.nn.Linear(3, 3).to(self.device)
        self.optimizer = torch.optim.SGD(self.net.parameters(), 0.1)
        self.any = Free(mean_of).to(self.device)
        self.any_optimizer = torch.optim.SGD(self.any.parameters(), 0.1)
        self.xs = [torch.randn(2, 3) for _ in range(3)]
        """Batches without labels."""
        self.batches = [(x, torch.tensor([0, 2])) for x in self.xs]
        """Batches for a classifier."""
        self.pairs = [(x, torch.randn(2, 3)) for x in self.xs]
        """Batches for a regression."""
        self.inputs = [row for x in self.xs for row in x]
        """Samples, for a loader to batch."""
        self.samples = [(row, number % 3) for number, row in enumerate(self.inputs)]
        self.targets = [(row, row.flip(0)) for row in self.inputs]
        self.named = [{"x": row, "mask": row > 0} for row in self.inputs]
        self.cross_entropy = torch.nn.functional.cross_entropy
        self.free = lambda compute: Free(compute).to(self.device)
        self.mean_of = mean_of
        self.made = SimpleNamespace
        self.loaded: Any = (torch.ones(3), torch.tensor(1))
        """What `torch.load` returns."""


@dataclass
class Record:
    """What a piece of code did."""

    values: list[object] = field(default_factory=list)
    """The variables of each function of the code, and of its modules, when they ended."""
    printed: str = ""
    lines: dict[str, set[int]] = field(default_factory=dict)
    """By file: the lines that ran."""


def run(texts: Mapping[str, str], script: str, packages: Mapping[str, object], accelerator: str) -> Record:
    """Import files under their names, run a script that calls them, and record what they do."""
    record = Record(lines={path: set() for path in texts})
    modules = {Path(path).stem: (path, text) for path, text in texts.items()}
    inputs = Inputs(accelerator)
    known = {**_names(packages), **{name: ModuleType(name) for name in modules}}
    loading = patch.object(torch, "load", lambda *_, **__: inputs.loaded)
    with _on(accelerator), _importing(known), loading, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns of some of the faults
        finder = _Finder(modules, record)
        sys.meta_path.insert(0, finder)
        for name in modules:
            sys.modules.pop(name, None)
        names: dict[str, Any] = {"s": inputs, "torch": torch}
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                for name in modules:
                    names[name] = module = __import__(name)
                    names.update({key: value for key, value in vars(module).items() if not key.startswith("__")})
                with _watching(record, set(texts)):
                    exec(script, names)  # noqa: S102  a script of the tests
        finally:
            sys.meta_path.remove(finder)
        record.printed = _GRAPH.sub("", printed.getvalue())
        record.values += [snapshot(dict(each.state_dict())) for each in (inputs.net, inputs.any)]
        record.values.append(snapshot(names.get("result")))
    return record


class _Finder:
    """Imports the files of a case from their texts."""

    def __init__(self, files: Mapping[str, tuple[str, str]], record: Record) -> None:
        self.files, self.record = files, record

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:  # noqa: ARG002  import's own
        """Return how to load one of the files; None for anything else."""
        from importlib.machinery import ModuleSpec  # noqa: PLC0415  the one use

        return ModuleSpec(name, self) if name in self.files else None  # type: ignore[arg-type]  # a loader by its methods

    def create_module(self, spec: Any) -> None:
        """Leave it to Python to make the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the file."""
        path, text = self.files[module.__name__]
        with _watching(self.record, {path}):
            exec(compile(text, path, "exec"), module.__dict__)  # noqa: S102  a file of the corpus


def _names(packages: Mapping[str, object]) -> dict[str, object]:
    """Return the packages with those above them: `a.b.c` needs `a` and `a.b`."""
    found: dict[str, object] = {}
    for name, package in packages.items():
        parts = name.split(".")
        for end in range(1, len(parts)):
            found.setdefault(".".join(parts[:end]), packages.get(".".join(parts[:end]), ModuleType(parts[0])))
        found[name] = package
    for name, package in found.items():
        above, _, last = name.rpartition(".")
        if above and not hasattr(found[above], last):
            setattr(found[above], last, package)
        with contextlib.suppress(AttributeError):
            vars(package).setdefault("__path__", [])
    return found


@contextlib.contextmanager
def _importing(packages: Mapping[str, object]) -> Iterator[None]:
    with patch.dict(sys.modules, packages):
        yield


@contextlib.contextmanager
def _watching(record: Record, paths: set[str]) -> Iterator[None]:
    """Record the lines that run in some files, and the variables of their functions when they end."""

    def local(frame: FrameType, event: str, given: object) -> Any:
        record.lines[frame.f_code.co_filename].add(frame.f_lineno)
        if event == "return":
            names = {name: each for name, each in frame.f_locals.items() if name not in _CHANGED and name[:2] != "__"}
            record.values.append((frame.f_code.co_name, snapshot(names), snapshot(given)))
        return local

    def traced(frame: FrameType, _event: str, _given: object) -> Any:
        return local if frame.f_code.co_filename in paths else None

    before = sys.gettrace()
    sys.settrace(traced)
    try:
        yield
    finally:
        sys.settrace(before)


def snapshot(value: Any, depth: int = 0) -> object:
    """Return what is to be compared of a value: of tensors the type, the device, the shape and the numbers."""
    if isinstance(value, torch.Tensor):
        numbers = None if value.device.type == "meta" else repr(value.detach().tolist())
        return (str(value.dtype), str(value.device), tuple(value.shape), numbers)
    if isinstance(value, _PLAIN):
        return repr(value)
    if depth > _DEEPEST:
        return type(value).__name__
    if isinstance(value, Mapping):
        return {repr(key): snapshot(each, depth + 1) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [snapshot(each, depth + 1) for each in value]
    if isinstance(value, torch.nn.Module):
        return snapshot(dict(value.state_dict()), depth + 1)
    if hasattr(value, "__dict__") and not callable(value) and not isinstance(value, ModuleType):
        kept = {name: each for name, each in vars(value).items() if not name.startswith("_")}
        return (type(value).__name__, snapshot(kept, depth + 1))
    return type(value).__name__


class _Played(torch.overrides.TorchFunctionMode):  # type: ignore[misc]  # to the checker torch is unknown
    """Has another device play CUDA in everything that PyTorch is asked for."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self.device = device

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the function with the device in the place of CUDA."""
        args, kwargs = [self._played(each) for each in args], dict(kwargs or {})
        if function is torch.Tensor.cuda:
            args[1:2] = [self.device]
            kwargs.pop("device", None)
            function = torch.Tensor.to
        return function(*args, **{name: self._played(each) for name, each in kwargs.items()})

    def _played(self, value: Any) -> Any:
        cuda = isinstance(value, torch.device) and value.type == "cuda"
        return self.device if cuda or (isinstance(value, str) and re.fullmatch(r"cuda(:\d+)?", value)) else value


@contextlib.contextmanager
def _on(accelerator: str) -> Iterator[None]:
    """Let code believe in one accelerator, and have loaders make their batches without processes."""
    real = torch.utils.data.DataLoader

    def loader(dataset: Any, batch_size: int = 1, *_: object, collate_fn: Any = None, **__: object) -> Any:
        return real(dataset, batch_size, collate_fn=collate_fn)

    with contextlib.ExitStack() as stack:
        for home, name, stand_in in (
            (torch.utils.data, "DataLoader", loader),
            (torch.cuda, "is_available", lambda: True),
            (torch.cuda, "current_device", lambda: 0),
            (torch.cuda, "set_device", lambda _device: None),
            (torch.cuda, "empty_cache", lambda: None),
        ):
            stack.enter_context(patch.object(home, name, stand_in))
        stack.enter_context(_Played(accelerator))
        yield


def package(**names: object) -> ModuleType:
    """Return a module that holds some names."""
    made = ModuleType("stand_in")
    vars(made).update(names)
    return made


def endless(loader: Iterable[Any]) -> Iterator[Any]:
    """Go through a loader again and again."""
    return cycle(loader)
