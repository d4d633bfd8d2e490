"""Changes made and audited again: the fault is gone, the text parses, and what is called safe is."""

import ast
from collections import Counter
from collections.abc import Iterable, Sequence

import pytest

from flyball_audit.diff import unified_diff
from flyball_audit.finding import Finding
from flyball_audit.fix import Text, fixable, patch, read_text, safely_fixable
from flyball_audit.run import Report, audit_sources
from flyball_audit.source import Source
from tests.audit.expectations import Case, scripts, snippets

FAULTY = [each for each in (*snippets(), *scripts()) if each.is_faulty]


def _audited(texts: dict[str, str]) -> Report:
    return audit_sources([Source(path, text) for path, text in texts.items()])


def _texts(case: Case) -> dict[str, str]:
    return {str(file): read_text(str(file)).text for file in case.files if file.suffix == ".py"}


def _mended(texts: dict[str, str], findings: Iterable[Finding]) -> dict[str, str]:
    """The texts after the changes of some findings."""
    asked = list(findings)
    changed = dict(texts)
    for path in {each.path for each in asked}:
        made = patch(read_text(path), [each for each in asked if each.path == path])
        assert made.fixed, made.left
        changed[path] = made.after
        ast.parse(made.after)
    return changed


def _count(findings: Sequence[Finding], rule: str) -> int:
    return Counter(each.rule for each in findings)[rule]


@pytest.mark.parametrize("case", FAULTY, ids=str)
def test_a_finding_is_gone_after_its_change(case: Case) -> None:
    """Each change alone, safe or not, takes its finding away and brings none that is worse."""
    texts = _texts(case)
    found = _audited(texts).findings
    for finding in filter(fixable, found):
        changed = _mended(texts, [finding])
        after = _audited(changed).findings
        diff = unified_diff(finding.path, texts[finding.path], changed[finding.path])
        assert _count(after, finding.rule) < _count(found, finding.rule), diff
        assert not [each.rule for each in after if each.severity.rank > max(one.severity.rank for one in found)], diff


@pytest.mark.parametrize("case", FAULTY, ids=str)
def test_after_all_safe_changes_nothing_safe_is_left(case: Case) -> None:
    """A second round finds nothing to do."""
    texts = _texts(case)
    found = [each for each in _audited(texts).findings if safely_fixable(each)]
    for _ in range(3):
        if not found:
            break
        texts = _mended_once(texts, found)
        found = [each for each in _audited(texts).findings if safely_fixable(each)]
    assert found == []


def _mended_once(texts: dict[str, str], findings: Sequence[Finding]) -> dict[str, str]:
    changed = dict(texts)
    for path in {each.path for each in findings}:
        changed[path] = patch(Text(path, texts[path], "utf-8"), [each for each in findings if each.path == path]).after
    return changed


LOOP = """\
import torch

model = torch.nn.Linear(8, 8).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
history = []
total = 0.0
for x, y in loader:
    {before}
    optimizer.zero_grad()
    out = model(x.cuda())
    loss = torch.nn.functional.cross_entropy(out, y.cuda())
    loss.backward()
    optimizer.step()
    {after}
"""


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ("", "total += loss", "total += loss.detach()"),
        ("", "total = total + loss / 2", "total = total + (loss / 2).detach()"),
        ("", "history.append(loss)", "history.append(loss.detach())"),
        ("", "history.append((loss, y))", None),
        ("", "history.append({'loss': loss})", None),
        ("", "history.append(out)", None),
        ("mask = torch.ones(8, 8).to('cuda')", "", "mask = torch.ones(8, 8, device='cuda')"),
        ("mask = torch.ones(8, 8).to(y)", "", None),
        ("mask = torch.ones(8, 8).to(like)", "", None),
        ("mask = torch.ones(8, 8).to(device=y)", "", None),
        ("mask = torch.ones(8, 8).type_as(y)", "", None),
        ("mask = torch.ones(8, 8).cuda(device=1)", "", None),
        ("mask = torch.ones(8, 8).to(y.device)", "", "mask = torch.ones(8, 8, device=y.device)"),
        ("mask = torch.ones(8, pin_memory=True).to('cuda')", "", None),
        ("mask = torch.ones(8, requires_grad=True).to('cuda')", "", None),
        ("mask = torch.linspace(0, 1, 8).to('cuda')", "", None),
        ("mask = torch.randn(8, 8).to('cuda')", "", None),
        ("", "optimizer.zero_grad(set_to_none=False)", None),
        ("", "torch.cuda.empty_cache()", ""),
    ],
)
def test_only_what_leaves_results_as_they_are_is_safe(before: str, after: str, changed: str | None) -> None:
    """Other random numbers, roundings, types, parameters without gradients: those are for people to judge."""
    code = LOOP.format(before=before or "pass", after=after or "pass")
    safe = [each for each in _audited({"train.py": code}).findings if safely_fixable(each)]
    if changed is None:
        assert safe == []
        return
    mended = _mended_once({"train.py": code}, safe)["train.py"]
    expected = code.replace(f"    {before or after}\n", f"    {changed}\n" if changed else "")
    assert mended == expected


@pytest.mark.parametrize(
    ("arguments", "is_safe"),
    [("", True), (", collate_fn=collate", False), (", batch_size=None", False), (", **options", False)],
)
def test_only_copies_of_what_pytorch_collates_are_changed_by_themselves(arguments: str, is_safe: bool) -> None:
    """A class of one's own, which a `collate_fn` may return, need not take `non_blocking`."""
    loader = f"torch.utils.data.DataLoader(data, pin_memory=True, num_workers=2{arguments})"
    code = LOOP.format(before="pass", after="pass").replace("in loader:", f"in {loader}:")
    found = [each for each in _audited({"train.py": code}).findings if each.rule == "blocking-transfer"]
    assert {safely_fixable(each) for each in found} <= {is_safe}
    assert found or "**" in arguments


@pytest.mark.parametrize("other", ["0.5", "float(loss)", "len(x)", "unknown(x)"])
def test_a_value_that_may_be_a_number_is_not_detached_by_itself(other: str) -> None:
    """A meter takes losses and numbers: a number has no `detach()`."""
    meter = "class Meter:\n    def __init__(self):\n        self.sum = 0\n"
    meter += "    def update(self, value):\n        self.sum += value\n\n"
    code = LOOP.format(before="pass", after="meter.update(loss); other.update(loss)")
    code = code.replace("history = []\n", f"history = []\n{meter}meter, other = Meter(), Meter()\n")
    (found,) = (each for each in _audited({"train.py": code}).findings if each.rule == "retained-graph")
    assert safely_fixable(found)
    mixed = code.replace("other.update(loss)", f"other.update({other})")
    (found,) = (each for each in _audited({"train.py": mixed}).findings if each.rule == "retained-graph")
    assert not safely_fixable(found)


def test_the_corpus_shows_safe_changes() -> None:
    """Otherwise nothing above would be tested."""
    found = [each for case in FAULTY for each in _audited(_texts(case)).findings]
    assert {each.rule for each in found if safely_fixable(each)} >= {"retained-graph", "empty-cache-every-step"}
    assert sum(map(fixable, found)) > 20
