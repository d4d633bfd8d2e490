"""The answers about values: which frame an expression stands in, what calls hand over, what classes are."""

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from flyball_audit.definition import Definition
from flyball_audit.flow import calls, expressions, statements, targets
from flyball_audit.flow.arguments import bind, default_environment
from flyball_audit.flow.attributes import Attributes
from flyball_audit.flow.callees import Resolver, calls_to
from flyball_audit.flow.derived import combine
from flyball_audit.flow.frames import Body, Frame, body_of, gives_anything
from flyball_audit.flow.guesses import Guesses
from flyball_audit.flow.handed import Arguments
from flyball_audit.flow.history import calls_of_partials, goes_without_history, stops_history, turns_off
from flyball_audit.flow.surroundings import Surroundings
from flyball_audit.flow.values import UNKNOWN, Value, join
from flyball_audit.module import Function, Module

if TYPE_CHECKING:
    from flyball_audit.project import Project

MOST_OPEN = 20
"""Bodies that are followed one for the other: a deeper one's callers are not asked, each is nine frames of Python's."""

MOST_CONTEXTS = 8
"""Different argument lists for which one function is followed; then all calls count as one."""


_WITH_VARIABLES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_CONTEXTS = (ast.With, ast.AsyncWith)


class Flow(Surroundings):
    """The values of one project's expressions; each body is followed when someone asks, and kept."""

    def __init__(self, project: "Project") -> None:
        super().__init__(project)
        self.attributes = Attributes(self)
        self.guesses = Guesses()
        self._resolver = Resolver(self)
        self.call = calls.call
        self.assign = targets.assign
        self.depth = 0
        """Statements, expressions and calls, one in the other, that are followed just now."""
        self.changes = 0
        """How often something has changed that expressions read besides variables: attributes, results."""
        self.reads: dict[ast.expr, tuple[ast.Name, ...] | None] = {}
        """Of expressions that were followed again: the variables in them."""
        self._open: list[Body] = []
        self._early: list[Body] = []
        self._followed_twice: set[Body] = set()
        self._frames: dict[ast.AST, Frame] = {}
        self._bodies: dict[ast.AST, Body] = {}
        self._contexts: dict[ast.AST, dict[object, Frame]] = {}
        self._closures: dict[ast.AST, Frame] = {}
        self._named: dict[tuple[Module, str], Value] = {}
        self._known: dict[Module, dict[str, Value]] = {}

    # ── What rules ask ────────────────────────────────────────────────────────────────────────────────────────────

    def value(self, module: Module, node: ast.AST) -> Value:
        """What an expression may be; unknown if nothing is known, or if no way leads there."""
        body = self._bodies.get(node)
        frame = self._frames.get(body) if body is not None else None
        if frame is None:
            frame = self._frame_around(module, node)
        return frame.values.get(node, UNKNOWN)

    def name(self, module: Module, node: ast.expr) -> str | None:
        """The full name of a library's or the project's thing, through local variables too."""
        return module.qualified(node) or self.value(module, node).name

    def callees(self, module: Module, node: ast.Call) -> tuple[Definition, ...]:
        """The project's functions that a call runs: itself, a method, `__init__`, a module's `forward`."""
        return self._resolver.callees(module, node)

    def _frame_around(self, module: Module, node: ast.AST) -> Frame:
        body = self._bodies.get(node)
        if body is None:
            body = self._bodies[node] = body_of(module, node)
        return self.frame(module, body)

    def records_history(self, module: Module, node: ast.AST) -> bool:
        """Whether autograd keeps history at a node, as far as its own function tells, and those that it stands in."""
        body = body_of(module, node)
        around = []
        below = node
        for above in module.ancestors(node):
            if above is body:
                break
            around += above.items if isinstance(above, _CONTEXTS) else []
            if isinstance(above, ast.For) and below in above.body and goes_without_history(self, module, above.iter):
                return False
            below = above
        stopped = any(turns_off(self, module, each.context_expr) for each in around)
        if stopped or self._stops(module, body):
            return False
        return module.function_of(body) is None or self.records_history(module, body)

    def is_called_without_history(self, module: Module, function: Function, depth: int = 3) -> bool:
        """Whether the project calls a function, and always where autograd's history is off."""
        sites = [*calls_to(self, module, function), *calls_of_partials(self, module, function)]
        return bool(sites) and all(not self.is_recorded(caller, call, depth) for caller, call in sites)

    def is_recorded(self, module: Module, call: ast.Call, depth: int = 3) -> bool:
        """Whether history is on at a call, for some of those at least that lead to it."""
        if not self.records_history(module, call):
            return False
        around = module.function_of(call)
        return around is None or not depth or not self.is_called_without_history(module, around, depth - 1)

    # ── Frames ────────────────────────────────────────────────────────────────────────────────────────────────────

    def frame(self, module: Module, node: Body) -> Frame:
        """The frame that stands for all calls of a body."""
        found = self._frames.get(node)
        if found is None:
            self._open.append(node)
            try:
                found = self._followed(module, node)
            except Exception:
                self._frames.pop(node, None)  # half followed: what fails for one rule is not unknown to the next
                raise
            finally:
                self._close(node)
        return found

    def _followed(self, module: Module, node: Body) -> Frame:
        owner = self.owner(module, node)
        env: dict[str, Value] = {}
        grad = not self._stops(module, node)
        found = Frame(self, module, node, env, outer=self._outer(module, node), owner=owner, grad=grad)
        self._frames[node] = found
        if isinstance(node, _WITH_VARIABLES):
            env |= default_environment(self, module, node, owner, ask=len(self._open) <= MOST_OPEN)
        self._follow(found)
        return found

    def comes_to(self, module: Module, call: ast.Call) -> bool:
        """Whether the function around a call has been followed that far: not if it is followed just now."""
        around = self._frame_around(module, call)
        if call.func in around.values:
            return True
        asking = self._open[-1]
        if around.node in self._open and around.node is not asking:
            self._early.append(asking)
        return False

    def comes_before(self, writers: Sequence[Function]) -> None:
        """Whoever asks for what others store, while one of those is followed still, is followed anew later."""
        if len(self._open) > 1 and any(each in self._open[:-1] for each in writers):
            self._early.append(self._open[-1])

    def _close(self, node: Body) -> None:
        """What was followed before its callers were is followed anew, once, when it is asked for again."""
        self._open.pop()
        if self._open:
            return
        self.depth = 0
        for each in self._early:
            if each is not node and each not in self._followed_twice:
                self._followed_twice.add(each)
                self._frames.pop(each, None)
        self._early.clear()

    def run(self, caller: Frame, definition: Definition, owner: Value | None, given: Arguments) -> Value:
        """What a function of the project gives for these arguments."""
        module, node = definition
        if isinstance(node, ast.ClassDef) or not gives_anything(module, node):
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
        around = next((each for each in module.ancestors(node) if isinstance(each, _WITH_VARIABLES)), None)
        return self.frame(module, around) if around is not None else None

    def owner(self, module: Module, node: Body) -> Value | None:
        """The instance of which a method is called; None of what is no method."""
        holder = module.class_of(node) if isinstance(node, Function) else None
        return None if holder is None else self.instance_of(Definition(module, holder))

    def _stops(self, module: Module, node: Body) -> bool:
        if not isinstance(node, Function) or not node.decorator_list:
            return False
        return any(stops_history(module, each) for each in node.decorator_list)

    # ── Names ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def global_value(self, frame: Frame, name: str) -> Value:
        """What a name means that no frame binds: a variable of the module, an import, a definition, a builtin."""
        module = frame.module
        if not module.binds(module.tree, name):
            return self._settled_name(frame, name)
        if frame.node is not module.tree:
            found = self.frame(module, module.tree).env.get(name)
            if found is not None and not found.is_unknown:
                return found
        target = self.project.names.binding(module, name)
        if target is None or target.startswith("builtins."):
            return UNKNOWN
        return self.named(module, target)

    def _settled_name(self, frame: Frame, name: str) -> Value:
        """What a name means that the module itself gives no value: the same from now on, unless another module does."""
        target = self.project.names.binding(frame.module, name)
        found = UNKNOWN if target is None else self.named(frame.module, target)
        if target is None or (frame.module, target) in self._named:
            frame.known[name] = found
        return found

    def known_names(self, module: Module) -> dict[str, Value]:
        """What names mean in a module, as far as they were asked for and cannot change."""
        return self._known.setdefault(module, {})

    def named(self, module: Module, dotted: str) -> Value:
        """The value of a dotted name: what the project defines under it, or a library's thing."""
        key = (module, dotted)
        if key in self._named:
            return self._named[key]
        full = self.project.names.resolve(module, dotted)
        definition = self.project.find(full)
        split = self.project.split(module, full) if definition is None else None
        if split is None or "." in split[1] or not split[1]:
            self._named[key] = Value(name=full, definition=definition)
            return self._named[key]
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
        return combine((first, second))

    # ── Objects ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def method_result(self, instance: Value, name: str) -> Value | None:
        """What a method gives, whatever it is handed; None if the class has none of that name."""
        assert instance.definition is not None  # noqa: S101  the caller asked
        method = self.method(instance.definition, name)
        if method is None or isinstance(method.node, ast.ClassDef):
            return None
        return self.frame(method.module, method.node).result

    def call_method(self, caller: Frame, instance: Value, name: str, given: Arguments) -> Value | None:
        """What a method gives for these arguments; None if the class has none of that name."""
        assert instance.definition is not None  # noqa: S101  the caller asked
        method = self.method(instance.definition, name)
        return None if method is None else self.run(caller, method, instance, given)

    def instance(self, frame: Frame, node: ast.Call, called: Value, given: Arguments) -> Value:
        """An object of a class of the project."""
        assert called.definition is not None  # noqa: S101  the caller asked
        made_here = self.instance_of(called.definition)
        fields = () if self.method(called.definition, "__init__") else given.keywords
        return made_here._replace(made_by=called.name, made_at=(frame.module, node), fields=fields)
