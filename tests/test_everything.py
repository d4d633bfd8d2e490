"""Every test is run, in groups beside each other, and what fails is shown."""

from pathlib import Path

import pytest

from tests.everything import ROOT, Group, everything, groups, run


def test_every_file_of_tests_is_in_one_group() -> None:
    """None is forgotten, none is run twice."""
    chosen = groups()
    for file in (ROOT / "tests").glob("**/test_*.py"):
        within = [group for group in chosen if group.folder in file.parents]
        assert sum(not any(part in file.parents for part in group.without) for group in within) == 1, file


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Group]:
    """Tests of which one fails; those of a folder within another are a group of their own."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # they take longer to load than all this takes to run
    for name, line in {
        "collector/test_two.py": "assert 2 == 2",
        "collector/diagnosis/test_three.py": "assert 3 == 4, 'three is not four'",
    }.items():
        file = tmp_path / "tests" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"def test_it():\n    {line}\n")
    return groups(tmp_path / "tests")


def test_what_fails_is_shown_and_named(project: list[Group], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert everything(project, tmp_path / "said") == 1
    said = capfd.readouterr().out
    assert "AssertionError: three is not four" in said
    assert "tests/collector/diagnosis: FAILED: 1 failed in " in said
    assert "tests/collector: 1 passed in " in said
    assert "all tests: " in said
    assert "failed: tests/collector/diagnosis; " in said
    assert "three is not four" in (tmp_path / "said" / "tests-collector-diagnosis.txt").read_text()


def test_it_ends_well_when_all_pass(project: list[Group], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert everything(project[1:], tmp_path / "said") == 0
    assert "all tests: 1 passed in " in capfd.readouterr().out


def test_a_group_without_tests_fails(project: list[Group]) -> None:
    """Nothing run is nothing proved."""
    (project[1].folder / "test_two.py").write_text("")
    assert not run(project[1]).ok
