"""`flyball calibrate` and the option of `flyball plan`, as a user types them."""

import json
from pathlib import Path

import pytest

from flyball.command import run

Captured = pytest.CaptureFixture[str]
EXAMPLE = Path(__file__).parents[3] / "examples" / "calibration"
RUNS = "model,device,devices,batch_size,sequence,micro_batch,step_seconds\ngpt2,A100,8,512,1024,8,0.9\n"


def test_the_example_is_told_in_every_format(tmp_path: Path, capsys: Captured) -> None:
    """What was learned, each run beside its estimates, the refused one with its reason; the page has a drawing."""
    measured = str(EXAMPLE / "measured.csv")
    assert run(["calibrate", measured]) == 0
    told = capsys.readouterr().out
    for words in ("Learned", "estimated against actual", "Refused", "in milliseconds", "10 runs of 1 kind"):
        assert words in told
    for suffix in ("md", "html", "json"):
        assert run(["calibrate", measured, "--output", str(tmp_path / f"told.{suffix}")]) == 0
    assert "<svg" in (tmp_path / "told.html").read_text(encoding="utf-8")
    document = json.loads((tmp_path / "told.json").read_text(encoding="utf-8"))
    assert document["schema_version"] == "1.0"
    assert len(document["runs"]) == 10
    assert document["mean_error"]["step_seconds"]["after"] < document["mean_error"]["step_seconds"]["before"]
    assert document["learned"][0]["step"]["width_after"] < document["learned"][0]["step"]["width_before"]
    assert len(document["refused"]) == 1


def test_the_examples_plan_names_its_runs(capsys: Captured) -> None:
    """The key of the specification, with a file beside it."""
    assert run(["plan", str(EXAMPLE / "plan.yaml"), "--format", "json"]) == 0
    calibration = json.loads(capsys.readouterr().out)["calibration"]
    assert calibration["source"] == "measured.csv"
    assert (calibration["step"]["runs"], calibration["refused"]) == (10, 1)


def test_a_plan_takes_other_runs_by_its_option(tmp_path: Path, capsys: Captured) -> None:
    """In place of those that the specification names."""
    other = tmp_path / "other.csv"
    other.write_text(RUNS, encoding="utf-8")
    assert run(["plan", str(EXAMPLE / "plan.yaml"), "--calibration", str(other)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "No run in" in told
    assert "Runs of transformer on A100 SXM4 80GB teach nothing here" in told


def test_columns_are_described(capsys: Captured) -> None:
    """With what each expects."""
    assert run(["calibrate", "--columns"]) == 0
    told = capsys.readouterr().out
    assert all(name in told for name in ("step_seconds", "allocated_bytes", "micro_batch", "model.KEY"))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("runs.csv", "modle,device\ngpt2,A100\n", "runs.csv:2: unknown column 'modle'; did you mean 'model'?"),
        ("runs.csv", RUNS.replace("A100", "A1000Z"), "no run can be used"),
        ("runs.json", "{", "runs.json:"),
        ("runs.yaml", "runs: 3\n", "expected a list of runs"),
    ],
)
def test_faults_end_with_2_and_no_traceback(name: str, text: str, said: str, tmp_path: Path, capsys: Captured) -> None:
    """The file, the line, the column, what was expected, and the nearest known name."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert run(["calibrate", str(path)]) == 2
    told = capsys.readouterr()
    assert said in told.err
    assert told.out == ""


def test_a_file_must_be_named_and_be_there(tmp_path: Path, capsys: Captured) -> None:
    """What to do instead is said."""
    assert run(["calibrate"]) == 2
    assert "--columns" in capsys.readouterr().err
    assert run(["calibrate", str(tmp_path / "none.csv")]) == 2
    told = capsys.readouterr().err
    assert "there is no file" in told
    assert "--columns" in told
