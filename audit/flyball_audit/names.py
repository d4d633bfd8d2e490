"""What a name stands for: through imports, aliases, re-exports inside the project, and libraries' second names."""

import ast
import builtins
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING

from flyball_audit.module import Module
from flyball_audit.written import dotted_name, written

if TYPE_CHECKING:
    from flyball_audit.project import Project

_BUILTINS = frozenset(dir(builtins))

_SECOND_NAMES = (
    ("lightning.pytorch.", "lightning."),
    ("pytorch_lightning.", "lightning."),
    ("lightning.fabric.Fabric", "lightning.Fabric"),
    ("lightning_fabric.", "lightning."),
    ("torch.utils.data.dataloader.", "torch.utils.data."),
    ("torch.utils.data.dataset.", "torch.utils.data."),
    ("torch.nn.modules.", "torch.nn.modules."),
    ("torch.nn.parallel.distributed.", "torch.nn.parallel."),
    ("torch.nn.parallel.data_parallel.", "torch.nn.parallel."),
    ("torch.nn.utils.clip_grad.", "torch.nn.utils."),
    ("torch.cuda.amp.autocast_mode.", "torch.cuda.amp."),
    ("torch.cuda.amp.grad_scaler.", "torch.cuda.amp."),
    ("torch.autograd.grad_mode.", "torch."),
    ("torch.amp.autocast_mode.", "torch.amp."),
    ("torch.amp.grad_scaler.", "torch.amp."),
    ("transformers.trainer.", "transformers."),
    ("transformers.training_args.", "transformers."),
    ("tqdm.auto.", "tqdm."),
    ("tqdm.notebook.", "tqdm."),
    ("tqdm.std.", "tqdm."),
    ("numpy.core.", "numpy."),
)
"""Where libraries keep what they offer under a shorter name: the shorter one is used throughout."""

_FRAMEWORKS = {
    "torch": "torch",
    "lightning": "lightning",
    "pytorch_lightning": "lightning",
    "lightning_fabric": "lightning",
    "transformers": "transformers",
    "trl": "transformers",
    "accelerate": "accelerate",
    "deepspeed": "deepspeed",
    "ignite": "ignite",
    "fastai": "fastai",
    "composer": "composer",
    "tensorflow": "tensorflow",
    "keras": "tensorflow",
    "jax": "jax",
    "flax": "jax",
    "paddle": "paddle",
    "mxnet": "mxnet",
    "tinygrad": "tinygrad",
    "megengine": "megengine",
    "oneflow": "oneflow",
}
"""Import roots and the framework they mean."""

NAMES_KEPT = 10_000
"""Names whose meaning is kept: projects use the same few again and again."""

CODE_KEPT = 1000
"""Expressions whose code is kept: what stands around a node is asked for it by one rule after the other."""

_DEEPEST = 12
"""Re-exports followed before a circle is assumed."""


class Names:
    """Answers for one set of files; every answer is kept."""

    def __init__(self, project: "Project") -> None:
        self._project = project
        self._bindings: dict[Module, dict[str, str]] = {}
        self._stars: dict[Module, tuple[tuple[Module | None, str], ...]] = {}
        self._meant: dict[tuple[Module, str], str | None] = {}
        self._from_star: dict[tuple[Module, str], str | None] = {}
        self._resolved: dict[tuple[Module, str], str] = {}
        self._frameworks: dict[Module, frozenset[str]] = {}
        self._imported: dict[Module, tuple[tuple[str, str], ...]] = {}

    def qualified(self, module: Module, node: ast.AST) -> str | None:
        """The full name of a dotted expression, or None."""
        dotted = dotted_name(node)
        if dotted is None:
            return None
        root, _, rest = dotted.partition(".")
        target = self.binding(module, root)
        if target is None or module.is_local(node, root):
            return None
        return self.resolve(module, f"{target}.{rest}" if rest else target)

    def resolve(self, module: Module, dotted: str) -> str:
        """A dotted name as a module writes it, after following what the project's own modules import."""
        key = (module, dotted)
        found = self._resolved.get(key)
        if found is None:
            found = self._resolved[key] = self._follow(module, dotted)
        return found

    def binding(self, module: Module, name: str) -> str | None:
        """What a module's own name stands for: an import, a definition, an alias, a star import, or a builtin."""
        key = (module, name)
        if key not in self._meant:
            self._meant[key] = self._meaning(module, name)
        return self._meant[key]

    def _meaning(self, module: Module, name: str) -> str | None:
        found = self._own(module).get(name) or self._from_stars(module, name)
        if found is None and not module.binds(module.tree, name):
            return f"builtins.{name}" if name in _BUILTINS else _CUSTOMARY.get(name)
        return found

    def frameworks(self, module: Module) -> frozenset[str]:
        """The frameworks whose packages a module imports."""
        if module not in self._frameworks:
            roots = {target.partition(".")[0] for target in self.imported(module)}
            self._frameworks[module] = frozenset(_FRAMEWORKS[each] for each in roots if each in _FRAMEWORKS)
        return self._frameworks[module]

    def imported(self, module: Module) -> Iterator[str]:
        """The dotted names of all that a module imports."""
        yield from (target for _, target in self._imports(module))
        yield from _star_imports(module)

    def _imports(self, module: Module) -> tuple[tuple[str, str], ...]:
        """The names that imports anywhere in a module bind, and their targets."""
        found = self._imported.get(module)
        if found is None:
            pairs = ((name, self._given_out(module, target) or target) for name, target in _imports(module))
            found = self._imported[module] = tuple(pairs)
        return found

    def _given_out(self, module: Module, target: str) -> str | None:
        """What a package whose `__init__.py` is not at hand gives out: what alone has that name in its files."""
        package, _, name = target.rpartition(".")
        if not package or self._project.split(module, target) is not None:
            return None
        found = [each for each in self._project.defining(name) if _is_below(each, package)]
        return f"{found[0].name}.{name}" if len(found) == 1 else None

    def _own(self, module: Module) -> Mapping[str, str]:
        """What a module's imports, definitions and aliases bind, star imports aside."""
        found = self._bindings.get(module)
        if found is None:
            found = self._bindings[module] = dict(self._bound(module))
        return found

    def _bound(self, module: Module) -> Iterator[tuple[str, str]]:
        """Aliases first, definitions next, imports last: a later pair wins."""
        imports = dict(self._imports(module))
        for assignment in module.all(ast.Assign):
            if module.parent(assignment) is module.tree and (dotted := dotted_name(assignment.value)):
                root, _, rest = dotted.partition(".")
                for each in assignment.targets if root in imports else ():
                    if isinstance(each, ast.Name) and each.id != root:
                        yield each.id, f"{imports[root]}.{rest}" if rest else imports[root]
            elif isinstance(assignment.value, ast.Subscript) and ast.unparse(assignment.value) == _ITSELF:
                yield from ((each.id, module.name) for each in assignment.targets if isinstance(each, ast.Name))
        for definition in (*module.functions, *module.all(ast.ClassDef)):
            if is_top_level(module, definition):
                yield definition.name, f"{module.name}.{definition.name}"
        yield from imports.items()

    def _from_stars(self, module: Module, name: str) -> str | None:
        key = (module, name)
        if key not in self._from_star:
            self._from_star[key] = None  # two files that import all of each other: the name is from elsewhere
            self._from_star[key] = self._exported(module, name)
        return self._from_star[key]

    def _exported(self, module: Module, name: str) -> str | None:
        """What the first of a module's star imports that binds a name binds it to."""
        for inside, star in self._stars_of(module):
            if inside is None:
                if name in _TORCH_STARS and star.startswith("torch"):
                    return f"{star}.{name}"
                continue
            found = self._own(inside).get(name)
            if found is not None and not found.startswith("builtins."):
                return self.resolve(inside, found)
        return None

    def _stars_of(self, module: Module) -> tuple[tuple[Module | None, str], ...]:
        """All that a module imports by stars, also by those of what it imports so: the project's modules, libraries."""
        if module not in self._stars:
            found: dict[tuple[Module | None, str], None] = {}
            self._reach(module, found, {module})
            self._stars[module] = tuple(found)
        return self._stars[module]

    def _reach(self, module: Module, found: dict[tuple[Module | None, str], None], seen: set[Module]) -> None:
        for star in _star_imports(module):
            inside = self._project.module_of(module, star)
            if inside not in seen:
                found[inside, star] = None
            if inside is not None and inside not in seen:
                seen.add(inside)
                self._reach(inside, found, seen)

    def _follow(self, module: Module, dotted: str) -> str:
        for _ in range(_DEEPEST):
            split = self._project.split(module, dotted)
            if split is None:
                return canonical(dotted)
            module, rest = split
            name, _, after = rest.partition(".")
            target = self.binding(module, name) if name else None
            own = f"{module.name}.{name}" if name else module.name
            if target is None or target == own or target.startswith("builtins."):
                return f"{module.name}.{rest}" if rest else module.name
            dotted = f"{target}.{after}" if after else target
        return dotted


_ITSELF = "sys.modules[__name__]"
"""How a module names itself."""

_CUSTOMARY = {
    "torch": "torch",
    "nn": "torch.nn",
    "F": "torch.nn.functional",
    "optim": "torch.optim",
    "np": "numpy",
    "DataLoader": "torch.utils.data.DataLoader",
}
"""What names mean that a file uses and nowhere binds: a cell or a star import that is not at hand did."""

_TORCH_STARS = frozenset({"DataLoader", "Dataset", "Module", "Linear", "Conv2d", "Adam", "AdamW", "SGD"})
"""What scripts take from `from torch… import *`."""


@lru_cache(NAMES_KEPT)
def canonical(dotted: str) -> str:
    """The shorter of a library's names."""
    if dotted.startswith("torch.optim.") and dotted.count(".") == 3 and not dotted.startswith("torch.optim.lr_sched"):
        head, _, last = dotted.rpartition(".")
        return f"torch.optim.{last}" if last[:1].isupper() else f"{head}.{last}"
    for second, first in _SECOND_NAMES:
        if dotted.startswith(second):
            return first + dotted[len(second) :]
    return dotted


@lru_cache(CODE_KEPT)
def code_of(node: ast.AST) -> str:
    """The code of a node, as Python would write it; most are dotted names, which need no writer."""
    return written(node) or ast.unparse(node)


def is_name(node: ast.AST, name: str) -> bool:
    """Whether a node is a variable of that name."""
    return isinstance(node, ast.Name) and node.id == name


def is_top_level(module: Module, node: ast.AST) -> bool:
    """Whether a definition belongs to the module itself (inside `if` and `try` too)."""
    return module.scope_of(node) is module.tree


def _is_below(module: Module, package: str) -> bool:
    """Whether a file lies in a package's folder, or in one below it, as the paths of both tell."""
    folders = PurePath(module.path).parts[:-1]
    parts = tuple(package.split("."))
    return any(folders[place : place + len(parts)] == parts for place in range(len(folders)))


def _imports(module: Module) -> Iterator[tuple[str, str]]:
    """The names that imports anywhere in a module bind, and their targets."""
    for plain in module.imports:
        for each in plain.names if isinstance(plain, ast.Import) else ():
            if each.asname:
                yield each.asname, each.name
            else:
                root = each.name.split(".")[0]
                yield root, root
    for partial in module.imports:
        origin = _origin(module, partial) if isinstance(partial, ast.ImportFrom) else ""
        for each in partial.names if isinstance(partial, ast.ImportFrom) else ():
            if each.name != "*":
                yield each.asname or each.name, f"{origin}.{each.name}" if origin else each.name


def _star_imports(module: Module) -> Iterator[str]:
    for partial in module.imports:
        if isinstance(partial, ast.ImportFrom) and any(each.name == "*" for each in partial.names):
            yield _origin(module, partial)


def _origin(module: Module, node: ast.ImportFrom) -> str:
    """The module that `from … import` names, dots resolved against the importing module's own name."""
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    kept = parts[: len(parts) - node.level + (1 if module.is_package else 0)]
    return ".".join([*kept, *([node.module] if node.module else [])])
