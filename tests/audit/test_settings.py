"""Where the audit's settings come from, and what wrong ones are told."""

from pathlib import Path

import pytest

from flyball_audit.choices import FailOn
from flyball_audit.finding import Finding, Severity
from flyball_audit.settings import Settings, find_settings, load_settings, read_settings, rules_named
from flyball_reports.errors import InputError

KNOWN = ("sync-every-step", "loader-few-workers", "loader-not-persistent", "no-compile")


def _finding(rule: str, confidence: float = 0.8, severity: Severity = Severity.NOTE) -> Finding:
    return Finding(rule, "train.py", 1, 1, severity, confidence, "", "", "", "", 1, 2)


def test_all_keys_are_read() -> None:
    """Patterns mean rules; what is left out is as if nothing were said."""
    text = """
    select = ["*"]
    ignore = ["loader-*"]
    exclude = ["third_party/"]
    confidence = 0.4
    fail_on = "error"
    evidence = "measured.yaml"
    [severity]
    no-compile = "warning"
    """
    assert read_settings(text, "flyball-audit.toml", KNOWN) == Settings(
        select=frozenset(KNOWN),
        ignore=frozenset({"loader-few-workers", "loader-not-persistent"}),
        exclude=("third_party/",),
        severity={"no-compile": Severity.WARNING},
        confidence=0.4,
        fail_on=FailOn.ERROR,
        evidence=Path("measured.yaml"),
    )
    assert read_settings("", "flyball-audit.toml", KNOWN) == Settings()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("select = [", "a.toml is not valid TOML: "),
        ("slect = ['*']", "slect: unknown key 'slect'; did you mean 'select'?"),
        ("ignore = ['no-compil']", "did you mean 'no-compile'?"),
        ("ignore = ['qqq']", "docs/audit.md"),
        ("confidence = 2", "confidence: expected a number of at least 0 and at most 1, not 2"),
        ("fail_on = 'sometimes'", "fail_on: expected one of note, warning, error, never"),
        ("severity = 'warning'", "severity: expected a table"),
        ("[severity]\nno-compil = 'note'", "severity.no-compil: unknown rule 'no-compil'; did you mean 'no-compile'?"),
        ("[severity]\nno-compile = 'loud'", "severity.no-compile: expected one of note, warning, error"),
        ("exclude = {a = 1}", "exclude: expected a list"),
    ],
)
def test_a_fault_is_told_with_its_key_and_the_nearest_name(text: str, words: str) -> None:
    """Nothing that is misspelt is silently ignored."""
    with pytest.raises(InputError) as told:
        read_settings(text, "a.toml", KNOWN)
    assert words in str(told.value)


def test_the_nearest_file_above_all_paths_is_taken(tmp_path: Path) -> None:
    """A file of its own comes before pyproject.toml; one that says nothing of the audit is passed over."""
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("[tool.flyball.audit]\nconfidence = 0.1\n", encoding="utf-8")
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.ruff]\n", encoding="utf-8")
    (inner / "pyproject.toml").write_text("[tool.flyball.audit]\nconfidence = 0.3\n", encoding="utf-8")
    (inner / "flyball-audit.toml").write_text("confidence = 0.4\nevidence = 'facts.yaml'\n", encoding="utf-8")
    (inner / "train.py").touch()
    found, file = find_settings([inner / "train.py"], KNOWN)
    assert (found.confidence, file) == (0.4, inner / "flyball-audit.toml")
    assert found.evidence == inner / "facts.yaml"
    found, file = find_settings([inner, tmp_path / "a"], KNOWN)
    assert (found.confidence, file) == (0.1, tmp_path / "pyproject.toml")


def test_files_that_cannot_be_read_are_said(tmp_path: Path) -> None:
    """Binary, huge, missing: what is wrong, in words."""
    binary, huge = tmp_path / "binary.toml", tmp_path / "huge.toml"
    binary.write_bytes(b"\xff\xfe")
    huge.write_bytes(b"#" * 1_000_001)
    for path, words in ((binary, "UTF-8"), (huge, "larger"), (tmp_path / "none.toml", "there is no file")):
        with pytest.raises(InputError, match=words):
            load_settings(path, KNOWN)


def test_switches_severities_and_confidence_change_what_is_shown() -> None:
    """A rule that is selected and ignored is ignored."""
    settings = Settings(
        select=frozenset({"no-compile", "sync-every-step"}),
        ignore=frozenset({"no-compile"}),
        severity={"sync-every-step": Severity.ERROR},
        confidence=0.5,
    )
    assert [settings.asks(rule) for rule in KNOWN] == [True, False, False, False]
    (shown,) = settings.shown([_finding("sync-every-step"), _finding("no-compile", confidence=0.4)])
    assert shown.severity is Severity.ERROR


@pytest.mark.parametrize(
    ("path", "left_out"),
    [
        ("third_party/a/b.py", True),
        ("src/third_party/b.py", True),
        ("src/generated_rows.py", True),
        ("src/train.py", False),
        ("tests/data/x.py", True),
        ("tests/x.py", False),
    ],
)
def test_patterns_leave_out_files_and_folders(path: str, left_out: bool) -> None:
    """A name anywhere, or a path from where the command runs."""
    settings = Settings(exclude=("third_party/", "generated_*.py", "tests/data"))
    assert settings.leaves_out(path) is left_out


def test_fail_on_is_reached_from_its_severity_on() -> None:
    """`never` is reached by nothing."""
    assert [FailOn.WARNING.reached_by(severity) for severity in Severity] == [False, True, True]
    assert not any(FailOn.NEVER.reached_by(severity) for severity in Severity)


def test_names_of_rules_must_exist() -> None:
    """Also those of the command line."""
    assert rules_named(["loader-few-workers", "no-*"], KNOWN) == {"loader-few-workers", "no-compile"}
    with pytest.raises(InputError, match="did you mean 'sync-every-step'"):
        rules_named(["sync-every-stp"], KNOWN)
