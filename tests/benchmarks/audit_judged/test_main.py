"""The program scores files that lie where it looks, and says which do not."""

from pathlib import Path

import pytest

from tests.benchmarks.audit_judged import __main__ as program
from tests.benchmarks.audit_judged.cases import Case, Fault, Part

FAULTY = """import torch
def train(model, loader, optimizer):
    model.cuda()
    total = 0
    for x in loader:
        loss = model(x.cuda()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss
    return total
"""
LIST = """
- repository: owner/name
  revision: abc
  part: tuning
  files: [train.py]
  faults:
    - {rule: retained-graph, at: ["train.py:10"], fixed: def, fixed_at: "train.py:10"}
    - {rule: data-parallel, at: ["train.py:3"]}
- {repository: owner/other, revision: abc, part: tuning, files: [gone.py]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One file before and after its mend, as the list has it."""
    for revision, text in (("abc", FAULTY), ("def", FAULTY.replace("+= loss", "+= loss.detach()"))):
        path = tmp_path / "owner/name" / revision / "train.py"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    return tmp_path


def test_a_case_is_scored_before_and_after_its_mend(folder: Path) -> None:
    """The audit is run on the files themselves."""
    fault = Fault("retained-graph", ("train.py:10",), fixed="def", fixed_at="train.py:10")
    result = program.score_case(Case("owner/name", "abc", Part.TUNING, ("train.py",), (fault,)), folder)
    assert (result.recall.hits, result.mended.hits, result.stayed) == (1, 1, ())


def test_the_report_tells_figures_misses_and_missing_files(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each list and part by itself."""
    lists = tmp_path / "lists"
    lists.mkdir()
    (lists / "small.yaml").write_text(LIST)
    monkeypatch.setattr(program, "LISTS", lists)
    assert program.main([str(folder), "--part", "tuning"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("small, tuning: 1 cases, 1 files\n")
    assert "recall                  50.0% (1/2;" in told
    assert "gone after the fix      100.0% (1/1;" in told
    assert "missed: owner/name: data-parallel at train.py:3" in told
    assert f"no file: {folder}/owner/other/abc/gone.py" in told


@pytest.mark.parametrize(
    ("arguments", "why"), [(["nowhere"], "no folder nowhere"), ([".", "--list", "x"], "no list x")]
)
def test_wrong_use_is_told(arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By a word and the exit status, no traceback."""
    assert program.main(arguments) == 2
    assert why in capsys.readouterr().err
