"""Tests of which values a command can receive."""

import sys
from pathlib import Path

import pytest

from flyball_planner.sweep.command_inputs import unused_names


@pytest.mark.parametrize(
    ("command", "unused"),
    [
        (["echo", "{depth}"], []),
        (["sh", "-c", "echo $FLYBALL_DEPTH"], []),
        (["env", "DEPTH={depth}", "true"], []),
        ([sys.executable, "-c", "import os; print(os.environ['FLYBALL_' + 'DEPTH'])"], []),
        (["sleep", "0.1"], ["depth"]),
        (["sh", "-c", "echo $FLYBALL_DEPTHS"], ["depth"]),
        ([sys.executable, "-c", "print(1)"], ["depth"]),
        (["no-such-program"], ["depth"]),
    ],
)
def test_arguments_show_what_a_command_receives(command: list[str], unused: list[str]) -> None:
    """A placeholder, the variable's name, or a name that is put together reaches the command."""
    assert unused_names(command, ["depth"]) == unused


def test_programs_and_the_sources_beside_them_are_read(tmp_path: Path) -> None:
    """The variable may be read by a script, by a module beside it, or by a module that is run by its name."""
    script, module = tmp_path / "learn.py", tmp_path / "settings.py"
    script.write_text("import settings\n", encoding="utf-8")
    command = [sys.executable, str(script)]
    assert unused_names(command, ["depth"]) == ["depth"]
    module.write_text("import os\nDEPTH = os.environ['FLYBALL_DEPTH']\n", encoding="utf-8")
    assert unused_names(command, ["depth", "chunk_size"]) == ["chunk_size"]
    package = tmp_path / "inner" / "learner"
    package.mkdir(parents=True)
    (package / "__main__.py").write_text("import os\nos.getenv('FLYBALL_CHUNK_SIZE')\n", encoding="utf-8")
    assert unused_names([sys.executable, "-m", "learner"], ["chunk_size"], tmp_path / "inner") == []
    assert unused_names([sys.executable, "-m", "learner"], ["depth"], tmp_path / "inner") == ["depth"]


def test_large_files_are_not_refused(tmp_path: Path) -> None:
    """A file that is too large to search may read every variable."""
    large = tmp_path / "large.bin"
    with large.open("wb") as file:
        file.truncate(17_000_000)
    assert unused_names(["true", str(large)], ["depth"]) == []
