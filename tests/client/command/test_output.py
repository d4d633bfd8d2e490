"""Output files of the planning commands: they are checked first, and never overwritten."""

from pathlib import Path

import pytest

from flyball.command import run
from flyball.command.errors import CommandError
from flyball.command.output import write_file

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """Write a specification that is planned quickly."""
    path = tmp_path / "run.yaml"
    path.write_text("model: gpt2\nhardware: RTX_4090_fp16\ntraining: {batch_size: 32, steps: 100}\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("place", ["no/file.json", "folder"])
@pytest.mark.parametrize(
    "words",
    [
        ["plan", "run.yaml", "--output"],
        ["models", "--output"],
        ["hardware", "--output"],
        ["configure", "RTX_3060_fp16", "--output"],
        ["prices", "H100", "--output"],
        ["storage", "-n", "10", "-t", "5", "--output"],
        ["recommend", "--samples", "10", "--hours", "1", "--output"],
        ["calibrate", "runs.csv", "--output"],
        ["scale", "--output"],
        ["scale", "--journal"],
        ["sweep", "--try", "a=1", "--output"],
        ["sweep", "--try", "a=1", "--journal"],
    ],
)
def test_an_output_file_that_cannot_be_written_is_an_error_before_anything_is_run(
    words: list[str], place: str, example: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No folder is created, and no result is lost."""
    monkeypatch.chdir(example.parent)
    Path("folder").mkdir()
    command = ["--", "touch", "it-was-run"] if words[0] in {"scale", "sweep"} else []
    assert run([*words, place, *command]) == 2
    captured = capsys.readouterr()
    assert f"{words[-1]} {place}" in captured.err
    assert ("there is no folder no" if place.startswith("no/") else "is a folder") in captured.err
    assert captured.out == ""
    assert {path.name for path in example.parent.iterdir()} == {"run.yaml", "folder"}


def test_a_report_that_cannot_be_written_names_its_key(tmp_path: Path, capsys: Captured) -> None:
    """The file name comes from the specification, so the message names that key."""
    path = tmp_path / "run.yaml"
    path.write_text(
        "model: gpt2\nhardware: M1_Pro\ntraining: {steps: 1}\nreport: {output: no/plan.html}\n", encoding="utf-8"
    )
    assert run(["plan", str(path)]) == 2
    assert "report.output" in capsys.readouterr().err


def test_one_example_is_written(tmp_path: Path, capsys: Captured) -> None:
    """Its folder is created; an unknown name creates none."""
    assert run(["examples", "transformer", "--write", str(tmp_path / "new")]) == 0
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["transformer.yaml"]
    assert run(["examples", "tronsformer", "--write", str(tmp_path / "other")]) == 2
    assert not (tmp_path / "other").exists()
    assert "did you mean 'transformer'?" in capsys.readouterr().err


def test_an_existing_configuration_is_not_overwritten(tmp_path: Path, capsys: Captured) -> None:
    """It may have been edited."""
    mine = tmp_path / "balanced.yaml"
    mine.write_text("mine\n", encoding="utf-8")
    assert run(["configure", "RTX_3060_fp16", "--write", str(tmp_path)]) == 1
    assert "exists already" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["balanced.yaml"]
    assert mine.read_text(encoding="utf-8") == "mine\n"


def test_no_part_of_a_new_file_stays_where_the_space_ends(tmp_path: Path) -> None:
    """As on a full disk: here the process may not write more than a mebibyte to a file."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, hard))
    try:
        with pytest.raises(CommandError, match=r"cannot write .*page\.html: File too large"):
            write_file(tmp_path / "page.html", "x" * 2**21)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []
