"""An audit as a user asks for it."""

import ast
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from flyball_audit.evidence import Evidence, Measured
from flyball_audit.finding import Finding, Gain, Severity, Time
from flyball_audit.project import Module, Project
from flyball_audit.review import Review, review
from flyball_audit.rule import Look, Match, Rule
from flyball_audit.settings import Settings


def _calls(name: str, rule: str, severity: Severity) -> Rule:
    """A rule for tests: every call of a function is a fault."""

    def look(module: Module, project: Project) -> Iterator[Match]:
        for call in module.all(ast.Call):
            if module.qualified(call.func) == name:
                yield Match(call, f"{project and name} is called", "it is slow", confidence=0.6)

    return _rule(rule, look, severity)


def _rule(name: str, look: Look, severity: Severity = Severity.NOTE) -> Rule:
    return Rule(
        id=name,
        severity=severity,
        summary="words",
        cause="words",
        change="words",
        expected="words",
        source="words",
        before="words",
        after="words",
        look=look,
        gain=Gain(Time.INPUT, 2.0),
    )


RULES = (
    _calls("torch.save", "loader-without-workers", Severity.NOTE),
    _calls("torch.load", "small-batch", Severity.WARNING),
)
CODE = "import torch\n\ntorch.save(1)\ntorch.load(2)\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a fault of each rule."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(CODE, encoding="utf-8")
    return Path()


def _found(reviewed: Review) -> list[tuple[str, str]]:
    return [(each.rule, each.severity.value) for each in reviewed.findings]


def test_rules_files_and_severities_are_chosen(folder: Path) -> None:
    """By settings alone."""
    (folder / "old").mkdir()
    (folder / "old" / "train.py").write_text(CODE, encoding="utf-8")
    settings = Settings(ignore=frozenset({"small-batch"}), exclude=("old",))
    assert _found(review([folder], settings, rules=RULES)) == [("loader-without-workers", "note")]
    settings = Settings(select=frozenset({"small-batch"}), severity={"small-batch": Severity.ERROR}, exclude=("old",))
    assert _found(review([folder], settings, rules=RULES)) == [("small-batch", "error")]


def test_the_title_names_what_was_audited(folder: Path) -> None:
    """A dot says nothing to whoever reads the report."""
    assert review([folder], Settings(), rules=RULES).title == f"Audit of {Path.cwd().name}"
    assert review([Path("train.py")], Settings(), rules=RULES).title == "Audit of train.py"


def test_measurements_come_before_thresholds(folder: Path) -> None:
    """What a fact makes surer passes a threshold that it would not have passed."""
    facts = Evidence({"data_wait_ratio": Measured(0.4, "run 7"), "gpu_memory_used_ratio": Measured(0.97, "run 7")})
    found = review([folder], Settings(confidence=0.7), facts, rules=RULES)
    assert _found(found) == [("loader-without-workers", "warning")]
    assert found.findings[0].confidence == pytest.approx(0.8)
    assert found.estimate() is not None
    assert review([folder], Settings(confidence=0.7), rules=RULES).findings == ()


def test_contradicted_findings_are_told_apart(folder: Path) -> None:
    """They are withdrawn with their reason, unless facts disagree among themselves."""
    found = review([folder], Settings(), Evidence({"data_wait_ratio": Measured(0.001, "run 7")}), rules=RULES)
    assert [each.finding.rule for each in found.withdrawn] == ["loader-without-workers"]
    assert _found(found) == [("small-batch", "warning")]


def _files(reviewed: Review) -> list[str]:
    return sorted(each.path for each in reviewed.sources)


def test_hostile_files_are_left_out_and_disturb_nothing(folder: Path) -> None:
    """Each with a clear line; what else is there is read as if they were not."""
    alone = review([folder], Settings(), rules=RULES)
    (folder / "huge.py").write_bytes(b"x = 1\n" * 2_000_000)
    (folder / "deep.py").write_text("x = " + "(" * 5_000 + ")" * 5_000, encoding="utf-8")
    (folder / "null.py").write_bytes(b"x = 1\0\n")
    (folder / "binary.py").write_bytes(bytes(range(1, 256)) * 20)
    (folder / "python2.py").write_text("print 'x'\n", encoding="utf-8")
    (folder / "broken.ipynb").write_text('{"cells": [', encoding="utf-8")
    (folder / "odd.ipynb").write_text('{"cells": 3}', encoding="utf-8")
    (folder / "folder.py").mkdir()
    (folder / "loop").symlink_to(".", target_is_directory=True)
    (folder / "turns.py").symlink_to("turns.py")
    (folder / "gone.py").symlink_to("nowhere.py")
    found = review([folder], Settings(), rules=RULES)
    assert found.findings == alone.findings
    assert _files(found) == ["train.py"]
    told = {each.path: f"{each.why}; {each.what_to_do}" for each in found.unreadable}
    assert set(told) == {"huge.py", "deep.py", "null.py", "binary.py", "python2.py", "broken.ipynb", "odd.ipynb"}
    for path, words in (("huge.py", "larger than 8 MB"), ("null.py", "null bytes"), ("python2.py", "Python 2")):
        assert words in told[path]
    assert all(len(words) < 300 and words.isprintable() for words in told.values())


@pytest.mark.parametrize("name", ["turns.py", "gone.py", "pipe.py"])
def test_what_is_named_and_no_file_is_said(name: str, folder: Path) -> None:
    """A loop, a link to nothing, a pipe that would be waited for."""
    (folder / "turns.py").symlink_to("turns.py")
    (folder / "gone.py").symlink_to("nowhere.py")
    os.mkfifo("pipe.py")
    found = review([folder / name, folder / "train.py"], Settings(), rules=RULES)
    assert _files(found) == ["train.py"]
    assert [each.path for each in found.unreadable] == [name]


def test_a_file_without_rights_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may read everything, so the refusal is played."""
    (folder / "secret.py").write_text("x = 1\n", encoding="utf-8")
    read_bytes = Path.read_bytes

    def refuse(path: Path) -> bytes:
        if path.name == "secret.py":
            raise PermissionError(13, "Permission denied")
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    (told,) = review([folder], Settings(), rules=RULES).unreadable
    assert (told.path, told.why) == ("secret.py", "cannot be read: Permission denied")


def test_a_folder_without_rights_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the others are read."""
    (folder / "secret").mkdir()
    iterdir = Path.iterdir

    def refuse(path: Path) -> Iterator[Path]:
        if path.name == "secret":
            raise PermissionError(13, "Permission denied")
        return iterdir(path)

    monkeypatch.setattr(Path, "iterdir", refuse)
    found = review([folder], Settings(), rules=RULES)
    assert _files(found) == ["train.py"]
    assert [(each.path, each.why) for each in found.unreadable] == [("secret", "cannot list the folder")]


def test_a_rule_that_fails_is_said_and_silences_no_other(folder: Path) -> None:
    """It is the audit's own fault."""

    def look(_module: Module, _project: Project) -> Iterator[Match]:
        raise KeyError("oh")

    found = review([folder], Settings(), rules=(_rule("broken", look), *RULES))
    assert len(found.findings) == 2
    assert found.failures == ("rule broken failed on train.py: KeyError('oh')",)


def test_findings_are_counted_by_severity(folder: Path) -> None:
    """Worst first is for the reader of a report to say."""
    found = review([folder], Settings(), rules=RULES)
    assert [len(found.of(each)) for each in Severity] == [1, 1, 0]
    assert isinstance(found.findings[0], Finding)
