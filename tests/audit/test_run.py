"""A whole audit: files in, findings out, comments obeyed, and nothing that code can say makes it fail."""

import ast
import gc
import os
import random
import signal
import weakref
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flyball_audit.finding import Severity
from flyball_audit.project import Module, Project
from flyball_audit.rule import Match, Rule
from flyball_audit.rules import RULES
from flyball_audit.run import audit, audit_sources
from flyball_audit.settings import Settings
from flyball_audit.source import Source
from flyball_audit.suppression import WITHOUT_REASON
from tests.audit.expectations import CORPUS

LEAK = (
    "for x in loader:\n    loss = model(x).mean()\n    loss.backward()\n    optimizer.step()\n"
    "    total += loss{comment}\n"
)
RETAINED = Settings(select=frozenset({"retained-graph"}))


def _rules(text: str, asked: Settings = RETAINED) -> list[str]:
    return [each.rule for each in audit_sources([Source("train.py", f"import torch\n{text}")], asked).findings]


def test_a_comment_with_a_reason_switches_a_finding_off() -> None:
    """A rule that the line's comment names is silent; another is not; without a reason a note stays."""
    assert _rules(LEAK.format(comment="")) == ["retained-graph"]
    assert _rules(LEAK.format(comment="  # flyball: ignore[retained-graph] ten steps in all")) == []
    assert _rules(LEAK.format(comment="  # flyball: ignore[no-compile] because")) == ["retained-graph"]
    assert _rules(LEAK.format(comment="  # flyball: ignore[retained-graph]")) == [WITHOUT_REASON]


LONGEST_SECONDS = 5
"""What reads from a pipe into which nobody writes is woken then, and fails."""


@pytest.fixture
def _wakes() -> Iterator[None]:
    def fail(_signal: int, _frame: FrameType | None) -> None:
        pytest.fail("the pipe was opened, and waited for")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(LONGEST_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("_wakes")
@pytest.mark.parametrize("name", ["pipe.py", "device.py"])
def test_what_is_no_ordinary_file_is_not_opened(name: str, tmp_path: Path) -> None:
    """A pipe would be waited for without end, and there are devices that never end."""
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "device.py").symlink_to("/dev/null")  # it ends at once, should it be opened
    found = audit([tmp_path / name])
    assert found.files == 0
    assert [(Path(each.path).name, each.why) for each in found.unreadable] == [(name, "not a regular file")]


def test_nothing_is_left_for_the_collector_of_circles() -> None:
    """What an audit learnt is gone when it ends: its parts hold each other, and a collector would walk through all."""
    seen: list[weakref.ref[object]] = []

    def look(module: Module, project: Project) -> Iterator[Match]:
        project.flow.value(module, module.tree.body[0])
        seen.extend(weakref.ref(each) for each in (module, project, project.flow, project.loops, module.tree))
        yield from ()

    gc.disable()
    try:
        audit_sources([Source("one.py", "def first(): pass\nfirst()")], rules=[replace(RULES[0], look=look, words=())])
        assert [each() for each in seen] == [None] * 5
    finally:
        gc.enable()


def test_a_rule_is_not_asked_of_files_without_its_words() -> None:
    """Only files in which one of the words stands are looked at; a rule without words looks at all."""

    def look(module: Module, _project: Project) -> Iterator[Match]:
        yield Match(module.functions[0], "seen", "")

    rule = replace(RULES[0], look=look)
    sources = [Source("one.py", "def first(): pass"), Source("two.py", "def second(): pass")]
    assert len(audit_sources(sources, rules=[rule]).findings) == 2
    (only,) = audit_sources(sources, rules=[replace(rule, words=("third", "second"))]).findings
    assert only.path == "two.py"


def test_a_comment_may_stand_above_its_line_or_speak_for_the_file() -> None:
    """A line of its own speaks for the next one; `ignore-file` for all; a text that looks like one for none."""
    above = LEAK.format(comment="").replace("    total", "    # flyball: ignore[retained-graph] short\n    total")
    assert _rules(above) == []
    assert _rules("# flyball: ignore-file[retained-graph] an example\n" + LEAK.format(comment="")) == []
    assert _rules("said = '# flyball: ignore-file[retained-graph] x'\n" + LEAK.format(comment="")) == ["retained-graph"]


def test_a_rule_that_fails_is_told_and_silences_no_other() -> None:
    """One rule's fault stands among the failures; the collector of circles runs again afterwards."""

    def fail(_module: object, _project: object) -> list[Match]:
        raise ZeroDivisionError("by design")

    broken = Rule("broken", Severity.NOTE, "", "", "", "", "", "", "", look=fail)
    report = audit_sources([Source("a.py", "x = 1\n")], rules=[broken])
    assert report.findings == ()
    assert "rule broken failed on a.py: ZeroDivisionError('by design')" in report.failures[0]
    assert gc.isenabled()


def test_broken_files_are_told_and_the_others_audited(tmp_path: Path) -> None:
    """Unreadable files are listed; findings come from those that parse, in order of place."""
    (tmp_path / "broken.py").write_text("def (:\n")
    kept = LEAK.format(comment="").replace("backward()", "backward(retain_graph=True)")
    (tmp_path / "train.py").write_text("import torch\n" + kept)
    (tmp_path / ".hidden.py").write_text("x = \n")
    report = audit([tmp_path], RETAINED)
    assert [Path(each.path).name for each in report.unreadable] == ["broken.py"]
    assert [(Path(each.path).name, each.line, each.column) for each in report.findings] == [("train.py", 6, 5)]
    assert report.reaches(Severity.WARNING)
    assert not report.reaches(Severity.ERROR)


def test_nothing_in_a_file_is_executed(tmp_path: Path) -> None:
    """Code that would write a file when run or imported writes none."""
    mark = tmp_path / "ran"
    (tmp_path / "evil.py").write_text(f"from pathlib import Path\nPath({str(mark)!r}).write_text('x')\n")
    audit([tmp_path])
    assert not mark.exists()


TEXTS = [path.read_text(encoding="utf-8") for path in sorted(CORPUS.rglob("*.py"))]


def _mutated(text: str, chance: random.Random) -> str:
    """Code with nodes exchanged, dropped or doubled, that still is Python."""
    tree = ast.parse(text)
    nodes = [each for each in ast.walk(tree) if isinstance(each, ast.expr)]
    found = (getattr(each, "body", None) for each in ast.walk(tree))
    bodies: list[list[ast.stmt]] = [each for each in found if isinstance(each, list) and each]
    for _ in range(chance.randint(1, 6)):
        if chance.random() < 0.5 and bodies:
            body = chance.choice(bodies)
            body.insert(chance.randrange(len(body) + 1), chance.choice(chance.choice(bodies)))
        elif nodes:
            one, other = chance.choice(nodes), chance.choice(nodes)
            for field in set(one._fields) & set(other._fields) - {"ctx"}:
                setattr(one, field, getattr(other, field))
    try:
        return ast.unparse(tree)
    except (RecursionError, ValueError, AttributeError, TypeError, KeyError):
        return text  # a circle, or a node where none can stand


@settings(max_examples=25, deadline=None)
@given(st.integers(min_value=0, max_value=2**32 - 1), st.data())
def test_mutated_code_never_fails_the_audit(seed: int, data: st.DataObject) -> None:
    """Whatever is exchanged in the corpus, every rule says something or nothing: none raises."""
    text = data.draw(st.sampled_from(TEXTS))
    report = audit_sources([Source("mutated.py", _mutated(text, random.Random(seed)))])
    assert report.failures == ()


_ATOMS = st.sampled_from(
    [
        "x",
        "loss",
        "model",
        "self",
        "loader",
        "None",
        "1",
        "'cuda'",
        "torch.tensor(x)",
        "model(x)",
        "loss.item()",
        "x[0]",
        "[x, loss]",
        "{'a': loss}",
        "{**x}",
        "(yield x)",
        "lambda y: y",
        "[y for y in x]",
        "f'{loss:.2f}'",
        "not loss",
        "(z := loss)",
        "*x,",
        "self.a.b",
        "model.parameters()",
        "optimizer.step()",
        "loss.backward()",
        "DataLoader(x, **x)",
        "x if loss else model",
        "await_",
        "x.to(*x)",
        "x[:, 1:]",
    ]
)


def _statements(depth: int) -> st.SearchStrategy[list[str]]:
    simple = st.one_of(
        st.builds("{} = {}".format, st.sampled_from(["x", "loss", "self.a", "x, y", "x[0]", "*x, y", "model"]), _ATOMS),
        st.builds("{} += {}".format, st.sampled_from(["x", "loss", "self.a", "x[0]"]), _ATOMS),
        st.builds("{}".format, _ATOMS),
        st.sampled_from(["pass", "import torch", "from torch import *", "global x", "del x", "assert x"]),
    )
    lines = simple.map(lambda line: [line])
    if depth:
        heads = st.sampled_from(
            [
                "for x in loader:",
                "while loss:",
                "if loss:",
                "def f(self, x=1, *a, **k):",
                "class A(nn.Module):",
                "with torch.no_grad() as x:",
                "try:",
                "for i, (x, y) in enumerate(loader):",
                "@torch.no_grad()\ndef forward(self, loss):",
                "match x:\n case [a, *b]:",
            ]
        )
        lines = st.one_of(lines, st.tuples(heads, _statements(depth - 1)).map(_block))
    return st.lists(lines, min_size=1, max_size=4).map(lambda blocks: [line for block in blocks for line in block])


def _block(parts: tuple[str, list[str]]) -> list[str]:
    head, body = parts
    inner = [f"  {line}" for line in body]
    tail = ["finally:", "  pass"] if head == "try:" else []
    return [*head.split("\n"), *inner, *tail]


@settings(max_examples=60, deadline=None)
@given(_statements(3))
def test_generated_code_never_fails_the_audit(lines: list[str]) -> None:
    """Nonsense that parses, and nonsense that does not, is read without a fault of the audit's own."""
    text = "\n".join(["import torch", "from torch import nn", "from torch.utils.data import DataLoader", *lines])
    assert audit_sources([Source("generated.py", text)]).failures == ()


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "-" * 3000 + "1",
        "x = " + " + ".join(["1"] * 3000),
        "if x:\n  pass\n" + "elif x:\n  pass\n" * 800,
        "x" + ".a" * 2000,
        "x" + "()" * 900,
        "x = " + "[" * 150 + "]" * 150,
        "\n".join("x = (x, x)" for _ in range(300)),
    ],
)
def test_deep_code_never_fails_the_audit(text: str) -> None:
    """Expressions and branches deeper than anyone writes end in unknown values, or in an unreadable file."""
    assert audit_sources([Source("deep.py", f"import torch\n{text}\n")]).failures == ()


CHAIN = (
    "def train(model, loader, optimizer):\n    for x in loader:\n        loss = model(x).mean()\n"
    "        loss.backward()\n        optimizer.step()\n        total = (\n            loss{above}\n"
    "            .detach()\n            .item(){beside}\n        )\n"
)


def test_a_chain_over_several_lines_is_told_where_its_last_method_stands() -> None:
    """A comment switches it off there, and where the chain begins."""
    asked = Settings(select=frozenset({"sync-every-step"}))
    plain = f"import torch\n{CHAIN.format(above='', beside='')}"
    (found,) = audit_sources([Source("train.py", plain)], asked).findings
    assert (found.line, found.column, found.end_line) == (10, 14, 10)
    ignored = "# flyball: ignore[sync-every-step] read once"
    assert _rules(CHAIN.format(above="", beside=f"  {ignored}"), asked) == []
    assert _rules(CHAIN.format(above=f"  {ignored}", beside=""), asked) == []
