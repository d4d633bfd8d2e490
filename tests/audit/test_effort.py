"""How much the audit looks at: counted, not timed, so that it neither grows unseen nor depends on a machine."""

import ast
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from flyball_audit.flow import expressions
from flyball_audit.flow.frames import Frame
from flyball_audit.flow.values import Value
from flyball_audit.index import Index
from flyball_audit.run import audit_sources, gathered
from flyball_audit.settings import Settings
from flyball_audit.source import Source

TRAINERS = Path(__file__).parent / "corpus" / "scripts"

MOST_EVALUATIONS = 1.25
"""Of an expression that is no name, on average: in the turns of loops, and for several calls, some are evaluated anew.

It is 1.22, and was 1.31 while what a command line is told was followed too."""


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> Counter[type[ast.AST]]:
    """Counts the expressions that are evaluated, by type."""
    found: Counter[type[ast.AST]] = Counter()
    for kind, handler in expressions._HANDLERS.items():
        monkeypatch.setitem(expressions._HANDLERS, kind, _counting(found, kind, handler))
    return found


def _counting(
    found: Counter[type[ast.AST]], kind: type[ast.AST], handler: Callable[[Frame, ast.AST], Value]
) -> Callable[[Frame, ast.AST], Value]:
    def counted(frame: Frame, node: ast.AST) -> Value:
        found[kind] += 1
        return handler(frame, node)

    return counted


def test_few_expressions_are_evaluated_twice(evaluated: Counter[type[ast.AST]]) -> None:
    """All rules together ask the same flow of values: what is known already is not followed again."""
    files = [each for each in gathered([TRAINERS], Settings()) if isinstance(each, Source)]
    nodes = (node for each in files for node in ast.walk(ast.parse(each.text)))
    expressions_there = sum(type(node) in expressions._HANDLERS for node in nodes)
    audit_sources(files)
    assert 0 < sum(evaluated.values()) <= MOST_EVALUATIONS * expressions_there


def test_a_file_is_walked_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """All rules share one index of each file."""
    walked: list[ast.Module] = []
    walk = Index._walk

    def counted(index: Index, tree: ast.Module) -> None:
        walked.append(tree)
        walk(index, tree)

    monkeypatch.setattr(Index, "_walk", counted)
    report = audit_sources(gathered([TRAINERS], Settings()))
    assert len(walked) == len(set(walked)) == report.files
