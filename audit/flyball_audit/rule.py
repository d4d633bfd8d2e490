"""What a rule is: its words, and the function that looks for its fault."""

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flyball_audit.finding import Edit, Finding, Gain, Severity

if TYPE_CHECKING:
    from flyball_audit.project import Module, Project

CERTAIN = 0.95
LIKELY = 0.8
SUSPECTED = 0.5
"""How sure a rule is: all that an expert would look at was seen; one question of his is open; most are."""


@dataclass(frozen=True)
class Match:
    """A node that shows the fault, and what is particular to it; what is left out, the rule says."""

    node: ast.stmt | ast.expr | ast.arg | ast.keyword
    message: str
    because: str
    confidence: float = LIKELY
    severity: "Severity | None" = None
    change: str | None = None
    edit: Edit | None = None
    module: "Module | None" = None
    """Where the node stands, if not in the module that was asked about (a function that a loop calls)."""


Look = Callable[["Module", "Project"], Iterable[Match]]
"""Finds the nodes of a module that show the fault; pure."""


@dataclass(frozen=True)
class Rule:
    """One kind of fault: a value, made once in the rule's file and named in the list of `rules`."""

    id: str
    severity: Severity
    """What a match has, unless it says otherwise."""
    summary: str
    cause: str
    change: str
    expected: str
    source: str
    """Who measured what is expected."""
    before: str
    after: str
    look: Look
    words: tuple[str, ...] = ()
    """Texts of which one stands in every file that shows the fault: other files are not looked at."""
    gain: Gain | None = None
    safe_fix: bool = False
    """At least some matches carry a safe edit."""

    def check(self, module: "Module", project: "Project") -> Iterable[Finding]:
        """The findings of this rule that come from one module."""
        for match in self.look(module, project):
            yield self._finding(match, match.module or module)

    def _finding(self, match: Match, module: "Module") -> Finding:
        node = match.node
        line, offset = _place(node)
        return Finding(
            rule=self.id,
            path=module.path,
            line=line,
            column=module.column(line, offset),
            severity=match.severity or self.severity,
            confidence=match.confidence,
            message=match.message,
            because=match.because,
            change=match.change or self.change,
            expected=f"{self.expected} ({self.source})",
            end_line=node.end_lineno or node.lineno,
            end_column=module.column(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset),
            gain=self.gain,
            edit=match.edit,
            begins=node.lineno if line != node.lineno else None,
        )


def _place(node: ast.stmt | ast.expr | ast.arg | ast.keyword) -> tuple[int, int]:
    """The line and offset that a reader looks at: of a chain over several lines, where the last method stands."""
    called = node.func if isinstance(node, ast.Call) else None
    end, offset = getattr(called, "end_lineno", None), getattr(called, "end_col_offset", None)
    if isinstance(called, ast.Attribute) and end is not None and offset is not None and end > node.lineno:
        return end, offset - len(called.attr.encode())
    return node.lineno, node.col_offset
