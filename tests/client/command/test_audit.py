"""`flyball audit`: formats, files, exit statuses, settings, evidence, patches and fixes."""

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flyball.command import run

Captured = pytest.CaptureFixture[str]

CODE = """\
import torch
from torch.utils.data import DataLoader


def train(model, data, optimizer):
    loader = DataLoader(data, batch_size=32)
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad(set_to_none=False)
        loss = torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        loss.backward(retain_graph=True)
        optimizer.step()
        total += loss
        torch.cuda.empty_cache()  # between steps
    return total
"""
RULES = "retained-graph,empty-cache-every-step,loader-without-workers,zero-grad-to-zero"
"""Only these rules run, so that new rules do not change the expected output."""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a script that breaks four rules: two have safe fixes, two have patches to review."""
    monkeypatch.chdir(tmp_path)
    path = Path("train.py")
    path.write_text(CODE, encoding="utf-8")
    return path


def _audit(*words: object, rules: str = RULES) -> int:
    return run(["audit", "--select", rules, *map(str, words)])


def _found(captured: Captured) -> dict[str, dict[str, object]]:
    return {each["rule"]: each for each in json.loads(captured.readouterr().out)["findings"]}


def test_findings_end_the_command_with_status_1(script: Path, capsys: Captured) -> None:
    """Each has its place, its code and a change; the summary is last."""
    assert _audit(script) == 1
    text = capsys.readouterr().out
    assert "train.py:14:9: warning [empty-cache-every-step]" in text
    assert "  14 │         torch.cuda.empty_cache()  # between steps\n     │         ^^^^^^^^^^^^^^^^^^^^^^^^\n" in text
    assert "2 warnings and 2 notes in 1 of 1 file." in text


@pytest.mark.parametrize(
    ("fail_on", "rules", "status"),
    [
        ("note", "loader-without-workers", 1),
        ("warning", "loader-without-workers", 0),
        ("warning", "retained-graph", 1),
        ("error", RULES, 0),
        ("never", RULES, 0),
    ],
)
def test_fail_on_sets_the_least_severity_for_status_1(fail_on: str, rules: str, status: int, script: Path) -> None:
    """Findings of this severity or worse fail the command."""
    assert _audit(script, "--fail-on", fail_on, rules=rules) == status


def test_a_clean_script_ends_with_status_0(tmp_path: Path, capsys: Captured) -> None:
    """With one line."""
    path = tmp_path / "clean.py"
    path.write_text("print('x')\n", encoding="utf-8")
    assert _audit(path) == 0
    assert capsys.readouterr().out == "no findings in 1 file.\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.py"], "there is no file or folder none.py"),
        (["train.py", "--ignore", "retaind-graph"], "did you mean 'retained-graph'?"),
        (["train.py", "--config", "none.toml"], "there is no file none.toml"),
        (["train.py", "--config", "pyproject.toml"], "no table [tool.flyball.audit]"),
        (["train.py", "--evidence", "none.yaml"], "--evidence: there is no file none.yaml"),
        (["train.py", "--evidence", "wrong.yaml"], "wrong.yaml:2: facts.data_wat_ratio: unknown fact"),
        (["train.py", "--diff", "--fix"], "--diff prints only patches"),
        (["train.py", "--format", "xml"], "xml"),
        (["empty"], "nothing was audited: there is no Python file or notebook in empty"),
        (["null.py"], "nothing was audited:\n  null.py:1: contains null bytes"),
        (["train.py", "--output", "audit.pdf"], "--output audit.pdf: .pdf is not a known format; use .md, .json"),
        ([], "PATH"),
    ],
)
def test_wrong_arguments_end_with_status_2(words: list[str], message: str, script: Path, capsys: Captured) -> None:
    """With one line on the standard error, and without a traceback."""
    script.with_name("pyproject.toml").write_text("[project]\n", encoding="utf-8")
    script.with_name("wrong.yaml").write_text("measured_on: x\nfacts: {data_wat_ratio: 0.3}\n", encoding="utf-8")
    script.with_name("empty").mkdir()
    script.with_name("null.py").write_bytes(b"\0")
    assert _audit(*words) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


def test_every_format_can_be_printed_and_written(script: Path, tmp_path: Path, capsys: Captured) -> None:
    """The suffix of the file selects the format; JSON is the only output."""
    for suffix, begins in (
        (".md", "# Audit of train.py"),
        (".html", "<!doctype html>"),
        (".txt", "train.py:13:9: warning ["),
    ):
        assert _audit(script, "--output", tmp_path / f"audit{suffix}") == 1
        assert (tmp_path / f"audit{suffix}").read_text(encoding="utf-8").startswith(begins)
    assert _audit(script, "--output", tmp_path / "audit.sarif") == 1
    assert json.loads((tmp_path / "audit.sarif").read_text(encoding="utf-8"))["version"] == "2.1.0"
    capsys.readouterr()
    assert _audit(script, "--format", "json") == 1
    found = _found(capsys)
    assert set(found) == set(RULES.split(","))
    assert "-        total += loss\n+        total += loss.detach()\n" in str(found["retained-graph"]["diff"])
    assert _audit(script, "--output", tmp_path / "no" / "audit.md") == 2
    assert "there is no folder" in capsys.readouterr().err


def test_text_for_people_is_the_format_table(script: Path, capsys: Captured) -> None:
    """It is the default; the former name `terminal` gives the same."""
    shown = []
    for words in ([], ["--format", "table"], ["--format", "terminal"]):
        assert _audit(script, *words) == 1
        shown.append(capsys.readouterr().out)
    assert shown[0].startswith("train.py:13:9: warning [")
    assert shown[0] == shown[1] == shown[2]


def test_evidence_confirms_lowers_and_withdraws(script: Path, capsys: Captured) -> None:
    """Measured facts change severities, and with them the exit status."""
    facts = Path("facts.yaml")
    facts.write_text("measured_on: run 7, 1,000 steps\nfacts: {data_wait_ratio: 0.4}\n", encoding="utf-8")
    words = (script, "--evidence", facts, "--format", "json")
    assert _audit(script, rules="loader-without-workers") == 0
    capsys.readouterr()
    assert _audit(*words, rules="loader-without-workers") == 1
    (found,) = _found(capsys).values()
    assert found["severity"] == "warning"
    assert "Measured: data_wait_ratio 40 % (run 7, 1,000 steps)." in str(found["because"])
    facts.write_text(json.dumps({"measured_on": "run 8", "facts": {"data_wait_ratio": 0.001}}), encoding="utf-8")
    assert _audit(*words, rules="loader-without-workers") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["findings"] == []
    assert document["withdrawn"][0]["reason"] == "data_wait_ratio 0.1 % (run 8)"


@pytest.mark.usefixtures("script")
def test_the_command_line_overrides_the_settings_file(capsys: Captured) -> None:
    """The file can also name the facts and the severity that fails."""
    Path("pyproject.toml").write_text(
        '[tool.flyball.audit]\nselect = ["loader-without-w*", "retained-graph"]\nignore = ["retained-graph"]\n'
        'evidence = "facts.yaml"\nfail_on = "error"\n[tool.flyball.audit.severity]\nzero-grad-to-zero = "error"\n',
        encoding="utf-8",
    )
    Path("facts.yaml").write_text("measured_on: run 7\nfacts: {data_wait_ratio: 0.4}\n", encoding="utf-8")
    assert run(["audit", "train.py", "-f", "json"]) == 0
    assert {rule: each["severity"] for rule, each in _found(capsys).items()} == {"loader-without-workers": "warning"}
    assert run(["audit", "train.py", "-f", "json", "--select", "zero-grad-to-zero"]) == 1
    assert {rule: each["severity"] for rule, each in _found(capsys).items()} == {"zero-grad-to-zero": "error"}


def test_a_comment_disables_a_rule(script: Path, capsys: Captured) -> None:
    """A comment without a reason works too, and is a note."""
    ignored = CODE.replace("# between steps", "# flyball: ignore[empty-cache-every-step] shared GPU")
    script.write_text(ignored.replace("total += loss", "total += loss  # flyball: ignore"), encoding="utf-8")
    assert run(["audit", "train.py", "-f", "json", "--select", f"{RULES},ignore-without-reason"]) == 0
    assert set(_found(capsys)) == {"loader-without-workers", "zero-grad-to-zero", "ignore-without-reason"}


def test_fix_applies_only_safe_changes(script: Path, capsys: Captured) -> None:
    """Formatting and results stay, and the rules have no findings afterwards."""
    assert _audit(script, "--fix") == 0
    text = capsys.readouterr().out
    assert "fixed train.py:13:9: retained-graph" in text
    fixed = script.read_text(encoding="utf-8")
    expected = CODE.replace("total += loss", "total += loss.detach()")
    assert fixed == expected.replace("        torch.cuda.empty_cache()  # between steps\n", "")
    ast.parse(fixed)
    _audit(script, "--format", "json")
    assert set(_found(capsys)) == {"loader-without-workers", "zero-grad-to-zero"}
    assert _audit(script, "--fix") == 0
    assert script.read_text(encoding="utf-8") == fixed


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_diff_prints_patches_that_git_applies(script: Path, capsys: Captured) -> None:
    """Safe changes come first, then those to review; no file is written."""
    assert _audit(script, "--diff") == 1
    text = capsys.readouterr().out
    assert script.read_text(encoding="utf-8") == CODE
    assert text.startswith("# train.py: retained-graph, empty-cache-every-step: does not affect results")
    assert (
        "\n# train.py: loader-without-workers, zero-grad-to-zero: check before you apply it\n--- a/train.py\n" in text
    )
    subprocess.run(["git", "apply", "-"], input=text.encode(), check=True)
    patched = script.read_text(encoding="utf-8")
    assert "set_to_none" not in patched
    assert "empty_cache" not in patched


def test_files_that_cannot_be_read_are_listed(script: Path, capsys: Captured) -> None:
    """They change neither the findings nor the exit status."""
    assert _audit(script, "--format", "json") == 1
    alone = json.loads(capsys.readouterr().out)
    Path("old.py").write_text("print 'x'\n", encoding="utf-8")
    Path("null.py").write_bytes(b"x = 1\0")
    assert _audit(".", "--format", "json") == 1
    document = json.loads(capsys.readouterr().out)
    assert document["findings"] == alone["findings"]
    assert [(each["path"], each["line"]) for each in document["errors"]] == [("null.py", 1), ("old.py", 1)]
    assert _audit(".") == 1
    assert (
        "skipped: old.py:1: Python 2 code (a print statement); convert it to Python 3 first" in capsys.readouterr().out
    )


def test_findings_in_notebooks_have_a_cell_and_no_fix(script: Path, capsys: Captured) -> None:
    """Lines are counted within the cell; magics are skipped; the notebook is not changed."""
    cells = [["%matplotlib inline\n", "import torch\n"], CODE.removeprefix("import torch\n").splitlines(keepends=True)]
    document = {"cells": [{"cell_type": "code", "source": cell} for cell in cells], "nbformat": 4}
    notebook = script.with_suffix(".ipynb")
    notebook.write_text(json.dumps(document), encoding="utf-8")
    assert _audit(notebook, "--fix", "--format", "json", rules="empty-cache-every-step") == 1
    (found,) = _found(capsys).values()
    assert (found["cell"], found["line"], found["column"], found["diff"]) == (2, 13, 9, "")
    assert json.loads(notebook.read_text(encoding="utf-8")) == document
    assert _audit(notebook, rules="empty-cache-every-step") == 1
    text = capsys.readouterr().out
    assert "train.ipynb:cell 2:13:9: warning [empty-cache-every-step]" in text
    assert "  13 │         torch.cuda.empty_cache()" in text


def test_an_audit_in_a_pipe_imports_only_what_it_needs(script: Path) -> None:
    """No package for terminals, for changes or for other commands."""
    code = (
        "import sys; from flyball.command import run; status = run(sys.argv[1:]); "
        "print(status, *sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, "audit", script], capture_output=True, text=True, check=True)
    status, *names = done.stderr.split()
    assert status == "1"
    assert not {"rich", "libcst", "numpy", "plotly", "torch", "pydantic", "grpc"} & set(names)
