"""`flyball calibrate`, and `flyball plan --calibration`."""

import json
from pathlib import Path

import pytest

from flyball.command import run

Captured = pytest.CaptureFixture[str]
EXAMPLE = Path(__file__).parents[3] / "examples" / "calibration"
RUNS = "model,device,devices,batch_size,sequence,micro_batch,step_seconds\ngpt2,A100,8,512,1024,8,0.9\n"


def test_the_example_is_reported_in_every_format(tmp_path: Path, capsys: Captured) -> None:
    """With what was learned, the runs beside their estimates, and the rejected run; the page has a chart."""
    measured = str(EXAMPLE / "measured.csv")
    assert run(["calibrate", measured]) == 0
    text = capsys.readouterr().out
    for words in ("Corrections", "estimated against actual", "Refused", "in milliseconds", "10 runs of 1 kind"):
        assert words in text
    for suffix in ("md", "html", "json"):
        assert run(["calibrate", measured, "--output", str(tmp_path / f"report.{suffix}")]) == 0
    assert "<svg" in (tmp_path / "report.html").read_text(encoding="utf-8")
    document = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert document["schema_version"] == "1.0"
    assert len(document["runs"]) == 10
    assert document["learned"][0]["step"]["width_after"] < document["learned"][0]["step"]["width_before"]
    assert len(document["refused"]) == 1


def test_runs_of_a_slower_cluster_make_the_error_fall(tmp_path: Path, capsys: Captured) -> None:
    """Each run is estimated from the others, so an error that they share disappears."""
    with (EXAMPLE / "measured.csv").open(encoding="utf-8", newline="") as file:
        rows = [line.rstrip("\n").split(",") for line in file if not line.startswith(("#", "in milliseconds"))]
    slower = [[*row[:-1], f"{1.4 * float(row[-1]):.4f}"] for row in rows[1:]]
    measured = tmp_path / "slower.csv"
    measured.write_text("\n".join(",".join(row) for row in [rows[0], *slower]), encoding="utf-8")
    assert run(["calibrate", str(measured), "--format", "json"]) == 0
    error = json.loads(capsys.readouterr().out)["mean_error"]["step_seconds"]
    assert error["before"] > 0.2
    assert error["after"] < error["before"] / 2


def test_the_examples_plan_names_its_runs(capsys: Captured) -> None:
    """The key of the specification names a file relative to it."""
    assert run(["plan", str(EXAMPLE / "plan.yaml"), "--format", "json"]) == 0
    calibration = json.loads(capsys.readouterr().out)["calibration"]
    assert calibration["source"] == "measured.csv"
    assert (calibration["step"]["runs"], calibration["refused"]) == (10, 1)


def test_an_option_of_plan_names_other_runs(tmp_path: Path, capsys: Captured) -> None:
    """They replace those of the specification."""
    other = tmp_path / "other.csv"
    other.write_text(RUNS, encoding="utf-8")
    assert run(["plan", str(EXAMPLE / "plan.yaml"), "--calibration", str(other)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "No run in" in text
    assert "Runs of transformer on A100 SXM4 80GB do not apply here" in text


def test_columns_are_described(capsys: Captured) -> None:
    """With the expected values."""
    assert run(["calibrate", "--columns"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in ("step_seconds", "allocated_bytes", "micro_batch", "model.KEY"))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("runs.csv", "modle,device\ngpt2,A100\n", "runs.csv:2: unknown column 'modle'; did you mean 'model'?"),
        ("runs.csv", RUNS.replace("A100", "A1000Z"), "none of the runs can be used"),
        ("runs.json", "{", "runs.json:"),
        ("runs.yaml", "runs: 3\n", "expected a list of runs"),
    ],
)
def test_faults_end_with_2_and_no_traceback(
    name: str, text: str, message: str, tmp_path: Path, capsys: Captured
) -> None:
    """The message has file, line, column, the expected value and the nearest known name."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert run(["calibrate", str(path)]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


def test_the_file_must_be_given_and_exist(tmp_path: Path, capsys: Captured) -> None:
    """The message names the option that describes such a file."""
    assert run(["calibrate"]) == 2
    assert "--columns" in capsys.readouterr().err
    assert run(["calibrate", str(tmp_path / "none.csv")]) == 2
    text = capsys.readouterr().err
    assert "there is no file" in text
    assert "--columns" in text
