"""Every test runs in one of the groups, and failures are shown."""

from pathlib import Path

import pytest

from tests.everything import ROOT, Group, everything, groups, run


def test_every_file_of_tests_is_in_one_group() -> None:
    """No test file is left out and none runs twice."""
    chosen = groups()
    for file in (ROOT / "tests").glob("**/test_*.py"):
        within = [group for group in chosen if group.folder in file.parents]
        assert sum(not any(part in file.parents for part in group.without) for group in within) == 1, file


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Group]:
    """Make two groups, one inside the other; the inner one fails."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # loading plugins takes longer than these tests
    for name, line in {
        "collector/test_two.py": "assert 2 == 2",
        "collector/diagnosis/test_three.py": "assert 3 == 4, 'three is not four'",
    }.items():
        file = tmp_path / "tests" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"def test_it():\n    {line}\n")
    return groups(tmp_path / "tests")


def test_failures_are_shown_and_named(project: list[Group], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The output of a failed group is printed and kept; the last line names the group."""
    assert everything(project, tmp_path / "outputs") == 1
    output = capfd.readouterr().out
    assert "AssertionError: three is not four" in output
    assert "tests/collector/diagnosis: FAILED: 1 failed in " in output
    assert "tests/collector: 1 passed in " in output
    assert "all tests: " in output
    assert "failed: tests/collector/diagnosis; " in output
    assert "three is not four" in (tmp_path / "outputs" / "tests-collector-diagnosis.txt").read_text()


def test_the_status_is_zero_when_all_pass(
    project: list[Group], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The totals are printed and no group is named."""
    assert everything(project[1:], tmp_path / "outputs") == 0
    assert "all tests: 1 passed in " in capfd.readouterr().out


def test_a_group_that_does_not_end_is_stopped(project: list[Group]) -> None:
    """It fails, and its output shows where it waits."""
    (project[1].folder / "test_two.py").write_text("import time\ndef test_it():\n    time.sleep(600)\n")
    outcome = run(project[1], limit_seconds=5)
    assert not outcome.ok
    assert "in test_it" in outcome.output


def test_a_group_without_tests_fails(project: list[Group]) -> None:
    """A group that runs no test proves nothing."""
    (project[1].folder / "test_two.py").write_text("")
    assert not run(project[1]).ok


def test_programs_of_tests_keep_their_bytecode(project: list[Group], monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise each of the programs that tests start compiles all modules again, and the tests take twice as long."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    (project[1].folder / "test_two.py").write_text(
        "import sys\ndef test_it():\n    assert not sys.dont_write_bytecode\n"
    )
    assert run(project[1]).ok
