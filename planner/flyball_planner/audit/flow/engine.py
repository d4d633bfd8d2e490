"""The answers about values: which frame an expression stands in, what calls hand over, what classes are."""

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flyball_planner.audit.definition import Definition, method_of
from flyball_planner.audit.flow import calls, expressions, statements
from flyball_planner.audit.flow.arguments import bind, default_environment
from flyball_planner.audit.flow.attributes import Attributes
from flyball_planner.audit.flow.frames import Body, Frame
from flyball_planner.audit.flow.library import is_module_base, made
from flyball_planner.audit.flow.values import MODEL, UNKNOWN, Tag, Tags, Value, join
from flyball_planner.audit.module import Function, Module

if TYPE_CHECKING:
    from flyball_planner.audit.project import Project

DEEPEST = 150
"""Nested statements, expressions and calls that are followed: Python's own limit is 1,000 frames, five apiece."""

MOST_CONTEXTS = 4
"""Different argument lists for which one function is followed; then all calls count as one."""


class Flow:
    """The values of one project's expressions; each body is followed when someone asks, and kept."""

    def __init__(self, project: "Project") -> None:
        self.project = project
        self.attributes = Attributes(self)
        self.call = calls.call
        self.assign = statements.assign
        self._depth = 0
        self._frames: dict[ast.AST, Frame] = {}
        self._contexts: dict[ast.AST, dict[object, Frame]] = {}
        self._closures: dict[ast.AST, Frame] = {}
        self._lineages: dict[ast.AST, tuple[Definition, ...]] = {}
        self._bases: dict[ast.AST, frozenset[str]] = {}
        self._backward: dict[Module, frozenset[str]] = {}
        self._callers: dict[frozenset[Module], dict[str, list[tuple[Module, ast.Call]]]] = {}
        self._default_device: bool | None = None
        self._heirs: dict[str, list[str]] | None = None

    # ── What rules ask ────────────────────────────────────────────────────────────────────────────────────────────

    def value(self, module: Module, node: ast.AST) -> Value:
        """What an expression may be; unknown if nothing is known, or if no way leads there."""
        return self.frame(module, _body_of(module, node)).values.get(node, UNKNOWN)

    def name(self, module: Module, node: ast.expr) -> str | None:
        """The full name of a library's or the project's thing, through local variables too."""
        return module.qualified(node) or self.value(module, node).name

    def callees(self, module: Module, node: ast.Call) -> tuple[Definition, ...]:
        """The project's functions that a call runs: itself, a method, `__init__`, a module's `forward`."""
        called = self.value(module, node.func)
        found = called.definition or self.project.find(module.qualified(node.func))
        if found is None:
            return ()
        if not isinstance(found.node, ast.ClassDef):
            return (found,)
        names = ("forward", "__call__") if called.is_instance else ("__init__",)
        methods = [self.method(found, name) for name in names]
        return tuple(each for each in methods if each is not None)[:1]

    def records_history(self, module: Module, node: ast.AST) -> bool:
        """Whether autograd keeps history at a node, as far as its own function tells."""
        body = _body_of(module, node)
        around = []
        for above in module.ancestors(node):
            if above is body:
                break
            around += above.items if isinstance(above, ast.With | ast.AsyncWith) else []
        stopped = any(statements.stops_history(module, each.context_expr) for each in around)
        return not stopped and not self._stops(module, body)

    def is_called_without_history(self, module: Module, function: Function, depth: int = 3) -> bool:
        """Whether the project calls a function, and always where autograd's history is off."""
        sites = [
            (caller, call)
            for caller, call in self.callers(function.name, module)
            if function in [each.node for each in self.callees(caller, call)]
        ]
        return bool(sites) and all(not self._is_recorded(caller, call, depth) for caller, call in sites)

    def _is_recorded(self, module: Module, call: ast.Call, depth: int) -> bool:
        if not self.records_history(module, call):
            return False
        around = module.function_of(call)
        return around is None or not depth or not self.is_called_without_history(module, around, depth - 1)

    # ── Frames ────────────────────────────────────────────────────────────────────────────────────────────────────

    def frame(self, module: Module, node: Body) -> Frame:
        """The frame that stands for all calls of a body."""
        found = self._frames.get(node)
        if found is None:
            owner = self.owner(module, node)
            env: dict[str, Value] = {}
            found = self._frames[node] = Frame(
                self,
                module,
                node,
                env,
                outer=self._outer(module, node),
                owner=owner,
                grad=not self._stops(module, node),
            )
            if isinstance(node, Function | ast.Lambda):
                env |= default_environment(self, module, node, owner)
            self._follow(found)
        return found

    def run(self, caller: Frame, definition: Definition, owner: Value | None, given: calls.Arguments) -> Value:
        """What a function of the project gives for these arguments."""
        module, node = definition
        if isinstance(node, ast.ClassDef):
            return UNKNOWN
        known = self._contexts.setdefault(node, {})
        key = (owner and owner.definition, given.positional, given.keywords, caller.grad)
        found = known.get(key)
        if found is None and len(known) >= MOST_CONTEXTS:
            return self.frame(module, node).result
        if found is None:
            env = bind(self, module, node, owner, given)
            found = known[key] = Frame(
                self, module, node, env, outer=self._outer(module, node), owner=owner,
                grad=caller.grad and not self._stops(module, node), is_default=False,
            )  # fmt: skip
            self._follow(found)
        return found.result

    def _follow(self, frame: Frame) -> None:
        node = frame.node
        if isinstance(node, ast.Lambda):
            frame.give_back(expressions.evaluate(frame, node.body))
            return
        statements.follow(frame, node.body)
        if isinstance(node, ast.ClassDef):
            own = Value(definition=Definition(frame.module, node), is_instance=True)
            for name, value in frame.env.items():
                self.attributes.store(frame, own, name, value)

    def _outer(self, module: Module, node: Body) -> Frame | None:
        if node in self._closures:
            return self._closures[node]
        around = next((each for each in module.ancestors(node) if isinstance(each, Function | ast.Lambda)), None)
        return self.frame(module, around) if around is not None else None

    def owner(self, module: Module, node: Body) -> Value | None:
        holder = module.class_of(node) if isinstance(node, Function) else None
        return None if holder is None else self.instance_of(Definition(module, holder))

    def _stops(self, module: Module, node: Body) -> bool:
        if not isinstance(node, Function) or not node.decorator_list:
            return False
        return any(statements.stops_history(module, each) for each in node.decorator_list)

    def enter(self) -> bool:
        """Take one step down; False where it is too deep."""
        if self._depth >= DEEPEST:
            return False
        self._depth += 1
        return True

    def leave(self) -> None:
        """Come back up."""
        self._depth -= 1

    # ── Names ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def global_value(self, frame: Frame, name: str) -> Value:
        """What a name means that no frame binds: a variable of the module, an import, a definition, a builtin."""
        module = frame.module
        if frame.node is not module.tree and module.binds(module.tree, name):
            found = self.frame(module, module.tree).env.get(name)
            if found is not None:
                return found
        target = self.project.names.binding(module, name)
        if target is None or (target.startswith("builtins.") and module.binds(module.tree, name)):
            return UNKNOWN
        return self.named(module, target)

    def named(self, module: Module, dotted: str) -> Value:
        """The value of a dotted name: what the project defines under it, or a library's thing."""
        full = self.project.names.resolve(module, dotted)
        definition = self.project.find(full)
        if definition is not None:
            return Value(name=full, definition=definition)
        split = self.project.split(module, full)
        if split is None or "." in split[1] or not split[1]:
            return Value(name=full)
        found = self.frame(split[0], split[0].tree).env.get(split[1])
        return Value(name=full) if found is None else found

    def local_definition(
        self, frame: Frame, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
    ) -> Value:
        """A function or class defined inside a function."""
        if frame.is_default or node not in self._closures:
            self._closures[node] = frame
        return Value(definition=Definition(frame.module, node))

    def combine(self, first: Value, second: Value) -> Value:
        """What arithmetic with two values gives."""
        if first.element is not None or first.items is not None or first.fields:
            return first if second == UNKNOWN else join(first, second)
        return expressions.combine((first, second))

    # ── Classes ───────────────────────────────────────────────────────────────────────────────────────────────────

    def lineage(self, definition: Definition) -> tuple[Definition, ...]:
        """A class and the project's classes that it derives from, nearest first."""
        known = self._lineages.get(definition.node)
        if known is None:
            self._lineages[definition.node] = (definition,)
            known = self._lineages[definition.node] = tuple(dict.fromkeys((definition, *self._ancestors(definition))))
        return known

    def _ancestors(self, definition: Definition) -> Iterator[Definition]:
        for each in getattr(definition.node, "bases", ()):
            base = self.project.find(definition.module.qualified(each))
            if base is not None and isinstance(base.node, ast.ClassDef):
                yield from self.lineage(base)

    def bases(self, definition: Definition) -> frozenset[str]:
        """The full names of all classes that a class derives from, the libraries' too."""
        known = self._bases.get(definition.node)
        if known is None:
            known = self._bases[definition.node] = frozenset(
                name
                for each in self.lineage(definition)
                for base in getattr(each.node, "bases", ())
                if (name := each.module.qualified(base)) is not None
            )
        return known

    def is_module(self, definition: Definition) -> bool:
        """Whether a class is an nn.Module."""
        return any(is_module_base(each) for each in self.bases(definition))

    def method(self, definition: Definition, name: str) -> Definition | None:
        """A method of a class, its own or inherited within the project."""
        for each in self.lineage(definition):
            found = method_of(each.node, name) if isinstance(each.node, ast.ClassDef) else None
            if found is not None:
                return Definition(each.module, found)
        return None

    def method_result(self, instance: Value, name: str) -> Value | None:
        """What a method gives, whatever it is handed; None if the class has none of that name."""
        assert instance.definition is not None  # noqa: S101  the caller asked
        method = self.method(instance.definition, name)
        if method is None or isinstance(method.node, ast.ClassDef):
            return None
        return self.frame(method.module, method.node).result

    def call_method(self, caller: Frame, instance: Value, name: str, given: calls.Arguments) -> Value | None:
        """What a method gives for these arguments; None if the class has none of that name."""
        assert instance.definition is not None  # noqa: S101  the caller asked
        method = self.method(instance.definition, name)
        return None if method is None else self.run(caller, method, instance, given)

    def instance(self, frame: Frame, node: ast.Call, called: Value, given: calls.Arguments) -> Value:
        """An object of a class of the project."""
        assert called.definition is not None  # noqa: S101  the caller asked
        made_here = self.instance_of(called.definition)
        fields = () if self.method(called.definition, "__init__") else given.keywords
        return made_here._replace(made_by=called.name, made_at=(frame.module, node), fields=fields)

    def instance_of(self, definition: Definition) -> Value:
        """Any object of a class."""
        return Value(self._class_tags(definition), definition=definition, is_instance=True)

    def _class_tags(self, definition: Definition) -> Tags:
        bases = self.bases(definition)
        if self.is_module(definition):
            name = getattr(definition.node, "name", "")
            return MODEL.tags | {Tag.CRITERION} if name.endswith(("Loss", "Criterion")) else MODEL.tags
        if any(each.startswith("torch.utils.data.") and each.endswith("Dataset") for each in bases):
            return frozenset({Tag.DATASET})
        found = next((value for each in bases if (value := made(each)) is not None), UNKNOWN)
        return found.tags

    # ── The project as a whole ────────────────────────────────────────────────────────────────────────────────────

    def uses_torch(self, module: Module) -> bool:
        """Whether names may be guessed by the habits of training code in a file."""
        return bool(module.frameworks & {"torch", "lightning", "transformers", "accelerate", "deepspeed"})

    def backward_names(self, module: Module) -> frozenset[str]:
        """Names, of variables or attributes, on which the module calls `.backward()`, or hands to one."""
        known = self._backward.get(module)
        if known is None:
            known = self._backward[module] = frozenset(_backward_names(module))
        return known

    @property
    def default_device_changes(self) -> bool:
        """Whether any file makes new tensors on a device without saying so each time."""
        if self._default_device is None:
            words = ("set_default_device", "set_default_tensor_type")
            texts = (each.source.text for each in self.project.modules.values())
            self._default_device = any(word in text for text in texts for word in words)
        return self._default_device

    def heirs(self, name: str) -> list[str]:
        """The name of a class, and those of the project's classes that derive from it, as their texts say."""
        if self._heirs is None:
            self._heirs = {}
            for module in self.project.modules.values():
                for heir in module.all(ast.ClassDef):
                    for base in heir.bases:
                        last = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
                        self._heirs.setdefault(str(last), []).append(heir.name)
        found = [name]
        for each in found:
            found += [other for other in self._heirs.get(each, ()) if other not in found]
        return found

    def callers(self, name: str, module: Module) -> list[tuple[Module, ast.Call]]:
        """The calls whose function ends in a name, in a module and those that it is connected with."""
        group = self.project.connected(module)
        if group not in self._callers:
            found: dict[str, list[tuple[Module, ast.Call]]] = {}
            for caller in sorted(group, key=lambda each: each.name):
                for each in caller.all(ast.Call):
                    last = getattr(each.func, "attr", None) or getattr(each.func, "id", None)
                    if last is not None:
                        found.setdefault(last, []).append((caller, each))
            self._callers[group] = found
        return self._callers[group].get(name, [])


def _body_of(module: Module, node: ast.AST) -> Body:
    """The body that a node is followed with: decorators and defaults belong to what is around the function."""
    below, above = node, module.parent(node)
    while above is not None:
        if isinstance(above, Function) and below in above.body:
            return above
        if isinstance(above, ast.Lambda) and below is above.body:
            return above
        if isinstance(above, ast.ClassDef) and below in above.body:
            return above
        below, above = above, module.parent(above)
    return module.tree


_RUNNERS = re.compile(
    r"(^|\.)(accelerator|fabric|\w*engine|booster|strategy|trainer|self|model|optim\w*|plugin|amp|autograd)$"
)
"""Whose `.backward(loss)` is handed the loss, where other `.backward()` are the loss's own."""


def _backward_names(module: Module) -> Iterator[str]:
    for each in module.all(ast.Call):
        if isinstance(each.func, ast.Attribute) and each.func.attr in {"backward", "manual_backward"}:
            handed = bool(each.args) and _RUNNERS.search(ast.unparse(each.func.value))
            inner: ast.expr = each.args[0] if handed else each.func.value
            while isinstance(inner, ast.BinOp | ast.Call):
                inner = inner.left if isinstance(inner, ast.BinOp) else (inner.args or [inner.func])[0]
            if isinstance(inner, ast.Name):
                yield inner.id
            elif isinstance(inner, ast.Attribute):
                yield inner.attr
