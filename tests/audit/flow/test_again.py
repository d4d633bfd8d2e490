"""In a loop's next turn, what reads nothing that has changed keeps its value; what reads more gets a new one."""

import ast

import pytest

from flyball_audit.flow import again, statements
from flyball_audit.flow.again import variables_read
from flyball_audit.flow.expressions import evaluate
from flyball_audit.flow.frames import Frame
from flyball_audit.flow.values import Value
from flyball_audit.run import audit
from tests.audit.expectations import scripts, snippets
from tests.audit.projects import module_of, value_of

LOOP = """
import torch
import torch.nn.functional as F
model = torch.nn.Linear(2, 2).cuda()
total = 0
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    shown = total
    total = total + loss
"""


def _times_evaluated(code: str, name: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often the expression that a variable is given was evaluated."""
    project, module = module_of(code)
    given = next(each.value for each in module.all(ast.Assign) if ast.unparse(each.targets[0]) == name)
    seen: list[ast.expr] = []

    def counted(frame: Frame, node: ast.expr) -> Value:
        seen.append(node)
        return evaluate(frame, node)

    monkeypatch.setattr(again, "evaluate", counted)
    project.flow.value(module, given)
    return sum(each is given for each in seen)


def test_what_reads_what_a_turn_changed_is_evaluated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """`total` is a number in the first turn, and a loss in the next."""
    assert _times_evaluated(LOOP, "shown", monkeypatch) == 2
    project, module = module_of(LOOP)
    assert value_of(project, module, "total").on_device


def test_what_reads_nothing_that_changed_is_evaluated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loss of each turn comes of the same model, and of a batch as the others."""
    assert _times_evaluated(LOOP, "loss", monkeypatch) == 1


def test_an_attribute_that_a_turn_stores_is_read_again() -> None:
    """No variable of the loop changes, but what the object holds."""
    project, module = module_of("""
        import torch
        class Meter:
            def __init__(self):
                self.last = None
            def run(self, loader):
                for x in loader:
                    before = self.last
                    self.last = torch.ones(3, device="cuda")
                return before
    """)
    assert value_of(project, module, "before").on_device


@pytest.mark.parametrize("code", ["[x for x in y]", "lambda: x", "(x := y)", "f(i for i in x)", "(yield x)"])
def test_expressions_with_names_of_their_own_are_always_evaluated(code: str) -> None:
    """They do more than read variables."""
    assert variables_read(ast.parse(code, mode="eval").body) is None


def test_the_variables_of_an_expression_are_found_wherever_they_stand() -> None:
    """In calls, keywords, texts, slices; attributes are none."""
    found = variables_read(ast.parse("f(a.b, k=c[d:e], t=f'{g}')", mode="eval").body)
    assert found is not None
    assert sorted(each.id for each in found) == ["a", "c", "d", "e", "f", "g"]


def test_nothing_is_found_less_or_more_than_when_all_is_evaluated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over the snippets and scripts of all rules: the same findings, to the word."""
    paths = [each.path for each in (*snippets(), *scripts())]
    once = audit(paths).findings
    monkeypatch.setattr(statements, "evaluate_again", evaluate)
    assert audit(paths).findings == once
