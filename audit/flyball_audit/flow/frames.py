"""One function's body, followed once: its variables, and the value of each expression in it."""

import ast
from typing import TYPE_CHECKING

from flyball_audit.flow.values import ON_HOST, UNKNOWN, Value, join
from flyball_audit.module import Module

if TYPE_CHECKING:
    from flyball_audit.flow.engine import Flow

DEEPEST = 130
"""Nested statements, expressions and calls that are followed: Python's own limit is 1,000 frames, five apiece."""

Body = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Module | ast.ClassDef


class Frame:
    """What is known while, and after, one body is followed with given arguments."""

    __slots__ = (
        "backward",
        "env",
        "flow",
        "grad",
        "in_loop",
        "is_default",
        "known",
        "module",
        "node",
        "outer",
        "owner",
        "passes",
        "returned",
        "seen",
        "unused",
        "values",
    )

    def __init__(
        self, flow: "Flow", module: Module, node: Body, env: dict[str, Value], *,
        outer: "Frame | None" = None, owner: Value | None = None, grad: bool = True, is_default: bool = True,
    ) -> None:  # fmt: skip
        self.flow = flow
        self.module = module
        self.node = node
        self.env = env
        self.outer = outer
        self.owner = owner
        """The instance whose method is followed."""
        self.grad = grad
        """Whether autograd keeps history at the statement that is followed."""
        self.is_default = is_default
        """Whether this frame stands for all calls of the function: what it stores in attributes counts."""
        self.values: dict[ast.AST, Value] = {}
        self.returned: Value | None = None
        self.unused: ast.expr | None = None
        """The expression that the statement consists of: nobody needs its value."""
        self.passes = 2
        """How often a loop's body is followed: the second time with what the first left behind."""
        self.in_loop = False
        """Whether the statement that is followed may be followed again."""
        self.seen: dict[ast.AST, int] = {}
        """Of expressions in loops: how much had changed in the flow when they were evaluated."""
        self.known = flow.known_names(module)
        """What names mean that nothing in the module gives values to."""
        self.backward = flow.backward_names(module)
        """Names whose `.backward()` is called: losses, whatever made them."""

    def lookup(self, name: str) -> Value | None:
        """The value of a variable here or in the functions around; None if no frame binds it."""
        frame: Frame | None = self
        while frame is not None:
            found = frame.env.get(name)
            if found is not None:
                return found
            frame = frame.outer
        return None

    def give_back(self, value: Value) -> None:
        """A `return` or `yield` with this value."""
        before = self.returned
        self.returned = value if before is None else join(before, value)
        if self.returned != before:
            self.flow.changes += 1

    @property
    def result(self) -> Value:
        """What calling the body gives; of what is unknown, its author may say that it is a number."""
        found = self.returned or UNKNOWN
        return ON_HOST if found == UNKNOWN and _says_number(self.node) else found


def _says_number(node: Body) -> bool:
    """Whether a function is annotated to return a number of Python: `-> float`."""
    said = getattr(node, "returns", None)
    return isinstance(said, ast.Name) and said.id in _NUMBERS


_NUMBERS = frozenset({"float", "int", "bool"})


def body_of(module: Module, node: ast.AST) -> Body:
    """The body that a node is followed with: decorators and defaults belong to what is around the function."""
    parents = module.parents
    below = node
    while not isinstance(below, ast.stmt):
        above = parents.get(below)
        if above is None:
            return module.tree
        if type(above) is ast.Lambda and below is above.body:
            return above
        below = above
    above = parents.get(below)
    while above is not None and type(above) not in _WITH_BODIES:
        above = parents.get(above)
    return module.tree if above is None else above  # type: ignore[return-value]  # as just seen


_WITH_BODIES = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef})
"""Of their parts, only those of the body are statements."""


def gives_anything(module: Module, node: Body) -> bool:
    """Whether a function returns or yields at all."""
    kinds = (ast.Return, ast.Yield, ast.YieldFrom)
    return isinstance(node, ast.Lambda) or any(module.within(node, kind) for kind in kinds)
