"""The planning commands as a user types them: formats, files, exit codes and errors."""

import json
import sys
from pathlib import Path

import msgspec
import pytest

from flyball.command import run
from flyball_planner.catalogue.devices import REGISTRY
from flyball_planner.plan.plan import Plan
from flyball_planner.specification.bundled import example_names, example_text

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """A specification that is quickly planned."""
    path = tmp_path / "run.yaml"
    path.write_text("model: gpt2\nhardware: RTX_4090_fp16\ntraining: {batch_size: 32, steps: 100}\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("name", example_names())
def test_the_examples_are_planned_to_all_formats(name: str, tmp_path: Path, capsys: Captured) -> None:
    """A table on the screen; files by their suffix; JSON is of the documented types."""
    path = tmp_path / f"{name}.yaml"
    path.write_text(example_text(name), encoding="utf-8")
    assert run(["plan", str(path)]) == 0
    assert "Bounded by" in capsys.readouterr().out
    for suffix in ("md", "json", "html", "txt"):
        assert run(["plan", str(path), "--output", str(tmp_path / f"plan.{suffix}")]) == 0
    assert (tmp_path / "plan.md").read_text(encoding="utf-8").startswith("# ")
    assert (tmp_path / "plan.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    plan = msgspec.convert(json.loads((tmp_path / "plan.json").read_text(encoding="utf-8")), Plan)
    assert plan.computation.estimated_train_time_human


def test_json_goes_to_the_screen_alone(example: Path, capsys: Captured) -> None:
    """So that it can be piped."""
    assert run(["plan", str(example), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert 0 < told["memory"]["utilization_percent"] < 100


def test_the_report_section_says_what_the_command_line_does_not(tmp_path: Path) -> None:
    """Its file lies beside the specification."""
    path = tmp_path / "run.yaml"
    path.write_text(
        "model: gpt2\nhardware: M1_Pro\ntraining: {steps: 1}\nreport: {output: plan.html}\n", encoding="utf-8"
    )
    assert run(["plan", str(path)]) == 0
    assert "<svg" in (tmp_path / "plan.html").read_text(encoding="utf-8")


def test_validate_tells_all_faults_of_all_files(example: Path, tmp_path: Path, capsys: Captured) -> None:
    """As JSON for editors too."""
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("model: {name: mlp}\nhardware: nothing\nextra: 1\n", encoding="utf-8")
    assert run(["validate", str(example), str(wrong)]) == 2
    told = capsys.readouterr().out
    assert f"{example}: can be planned" in told
    assert told.count(str(wrong)) >= 3
    assert run(["validate", str(wrong), "--format", "json"]) == 2
    (result,) = json.loads(capsys.readouterr().out)
    assert {problem["key"] for problem in result["problems"]} >= {"model.d_in", "hardware.device", "extra"}
    assert all(problem["line"] for problem in result["problems"])


def test_examples_are_listed_printed_and_written(tmp_path: Path, capsys: Captured) -> None:
    """What is there already is never overwritten."""
    assert run(["examples"]) == 0
    assert all(name in capsys.readouterr().out for name in ("transformer",))
    assert run(["examples", "transformer"]) == 0
    assert capsys.readouterr().out == example_text("transformer")
    assert run(["examples", "--write", str(tmp_path)]) == 0
    assert {path.stem for path in tmp_path.iterdir()} == set(example_names())
    assert run(["examples", "--write", str(tmp_path)]) == 1
    assert run(["examples", "tronsformer"]) == 2
    assert "there are" in capsys.readouterr().err


def test_a_part_of_a_models_name_is_answered_with_those_that_hold_it(tmp_path: Path, capsys: Captured) -> None:
    """Not with the nearest alone, which may be another generation's."""
    path = tmp_path / "run.yaml"
    path.write_text("model: llama\nhardware: M1_Pro\n", encoding="utf-8")
    assert run(["plan", str(path)]) == 2
    planned = capsys.readouterr().err
    assert run(["models", "--details", "llama"]) == 2
    for told in (planned, capsys.readouterr().err):
        assert all(name in told for name in ("did you mean one of", "llama-2-7b", "llama-3-8b"))


@pytest.mark.parametrize("words", [["validate", "run.yaml"], ["examples"]])
@pytest.mark.parametrize("form", ["html", "markdown"])
def test_lines_are_made_into_no_page(words: list[str], form: str, capsys: Captured) -> None:
    """A format that a command does not write is refused, and what it writes is named."""
    assert run([*words, "--format", form]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert all(known in told.err for known in (form, "'table'", "'json'"))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["plan", "run.yaml", "--output", "plan.pdf"], "no format is known by .pdf; end it with .md, .json"),
        (["prices", "H100_80GB_fp16", "--hours", "nan"], "--hours nan: expected a number that is finite"),
        (["models", "--details", "zzz"], "flyball models --list"),
        (["sweep", "--try", "a=1", "--try", "a=2", "--", "true"], "a name stands there twice"),
        (["sweep", "--try", "a=5-3", "--", "true"], "a range rises, as in a=3-5"),
        (["sweep", "--try", "a=1", "--output", "ranking.pdf", "--", "true"], "no format is known"),
        (["scale", "--output", "growth.pdf", "--", "true"], "no format is known"),
        (["scale", "--sizes", "1,1,2", "--", "touch", "it"], "a law needs at least 3 different sizes"),
        (["scale", "--budget", "nan", "--", "touch", "it"], "--budget nan: expected a number that is finite"),
        (["sweep", "--try", "a=1-100000000", "--", "touch", "it"], "100,000,000 configurations are more than"),
        (["sweep", "--try", "a=1,,2", "--", "touch", "it"], "expected NAME=VALUES"),
        (["sweep", "--try", "a=1", "--timeout", "nan", "--", "touch", "it"], "--timeout nan"),
        (["sweep", "--try", "a=1", "--retry-failed", "--", "touch", "it"], "says nothing without --journal"),
        (["storage", "-n", "10", "-t", "inf"], "--tokens inf: expected a number that is finite"),
        (["storage", "-n", "10", "-t", "5", "--nodes", "100000"], "expected 1 to 32 nodes"),
        (["storage", "-n", "10", "-t", "5", "--counts", "none.json"], "no file none.json; it is a list in JSON"),
        (["configure", "A100", "--days", "nan"], "--days nan: expected a number that is finite"),
        (["configure", "A100", "--write", "run.yaml"], "run.yaml is a file; name a folder"),
        (["hardware", "--details", "A100", "--kind", "cpu"], "either --details or --kind"),
        (["recommend", "--hours", "nan", "--samples", "10"], "--hours nan"),
        (["recommend", "--hours", "1e-300", "--samples", "10"], "is not in the range"),
        (["recommend", "--hours", "1", "--samples", "10", "--device", "A100"], "says nothing beside --samples"),
        (["recommend", "--hours", "1", "--plan", "run.yaml", "--tokens", "9"], "says nothing beside --plan"),
        (["prices", "--plan", "run.yaml", "--hours", "3"], "--hours and --devices follow from --plan"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(
    words: list[str], told: str, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is run or written."""
    monkeypatch.chdir(tmp_path)
    Path("run.yaml").write_text("model: gpt2\nhardware: M1_Pro\ntraining: {steps: 1}\n", encoding="utf-8")
    assert run(words) == 2
    said = capsys.readouterr()
    assert told in said.err
    assert said.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["run.yaml"]


def test_a_device_that_lacks_a_precision_is_told_and_never_recommended(tmp_path: Path, capsys: Captured) -> None:
    """TPUs of some generations compute in no 32 bits."""
    path = tmp_path / "run.yaml"
    path.write_text(
        "model: gpt2\nhardware: TPU v5e\ntraining: {steps: 1, batch_size: 8, precision: fp32}\n", encoding="utf-8"
    )
    assert run(["plan", str(path)]) == 2
    assert "does not compute in fp32 or anything wider, but in bf16" in capsys.readouterr().err
    path.write_text(path.read_text(encoding="utf-8").replace("TPU v5e", "H100_80GB_fp16"), encoding="utf-8")
    assert run(["recommend", "--plan", str(path), "--hours", "1", "--format", "json"]) == 0
    devices = [each["device"] for each in json.loads(capsys.readouterr().out)["devices"]]
    assert devices
    assert "TPU v5e" not in devices


def test_an_example_can_be_had_as_json(capsys: Captured) -> None:
    """Alone or with the others."""
    assert run(["examples", "transformer", "--format", "json"]) == 0
    assert [each["name"] for each in json.loads(capsys.readouterr().out)] == ["transformer"]


def test_models_and_hardware_are_listed_with_details(capsys: Captured) -> None:
    """All that a specification can name."""
    assert run(["models", "--list", "--format", "json"]) == 0
    models = json.loads(capsys.readouterr().out)
    assert {"linear_regression_normal", "xgboost_like", "resnet50", "transformer_decoder"} <= {
        each["name"] for each in models["models"]
    }
    assert run(["models", "--details", "mlp"]) == 0
    assert "d_in" in capsys.readouterr().out
    assert run(["models", "--details", "gpt2-xl", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["parameters"] == 1_557_611_200
    assert run(["hardware", "--list", "--format", "json"]) == 0
    hardware = json.loads(capsys.readouterr().out)
    assert {"H100_80GB_fp16", "TPU_v4_pod", "M2_Ultra"} <= {each["name"] for each in hardware["profiles"]}
    assert run(["hardware", "--details", "rtx 4090"]) == 0
    assert "24.0 GiB" in capsys.readouterr().out
    for words in (["models", "--details", "mlpp"], ["hardware", "--details", "H1000"]):
        assert run(words) == 2
        assert "Traceback" not in capsys.readouterr().err


def test_devices_of_ones_own_come_from_a_file(tmp_path: Path, capsys: Captured) -> None:
    """They are listed and can be planned for; what is wrong with the file is told."""
    file = tmp_path / "own.yaml"
    file.write_text("devices: [{name: Our A100, like: A100_80GB_fp16, memory_gib: 96}]\n", encoding="utf-8")
    run_file = tmp_path / "run.yaml"
    run_file.write_text("model: gpt2\nhardware: Our A100\ntraining: {steps: 1}\n", encoding="utf-8")
    try:
        assert run(["plan", str(run_file), "--hardware-file", str(file), "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out)["hardware"]["device"] == "Our A100"
    finally:
        REGISTRY.clear()
    assert run(["plan", str(run_file), "--hardware-file", str(tmp_path / "none.yaml")]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_configurations_are_written_and_can_be_planned(tmp_path: Path, capsys: Captured) -> None:
    """All three, as specifications."""
    assert run(["configure", "RTX_3060_fp16", "--write", str(tmp_path), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in told] == ["conservative", "balanced", "extreme"]
    assert all(len(each["phases"]) == 2 for each in told)
    for each in told:
        assert run(["validate", str(tmp_path / f"{each['name']}.yaml")]) == 0
    assert run(["configure", "RTX_3060_fp16", "--kind", "balanced"]) == 0
    assert "Balanced" in capsys.readouterr().out


def test_storage_is_told_by_level(tmp_path: Path, capsys: Captured) -> None:
    """With the names that scripts know, and better where something was counted."""
    assert run(["storage", "-n", "1000000", "-t", "500", "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["total_storage_gb"] > 0
    assert [each["name"] for each in told["level_estimates"]] == ["node0", "node1", "node2", "node3"]
    assert told["level_estimates"][0]["storage_mb"] > told["level_estimates"][1]["storage_mb"]
    counts = tmp_path / "counts.json"
    counts.write_text('[{"level": 0, "observations": 1e6, "unique": 1e5, "storage_bytes": 5e7}]', encoding="utf-8")
    page = tmp_path / "storage.html"
    assert run(["storage", "-n", "1000", "-t", "500", "--counts", str(counts), "--output", str(page)]) == 0
    assert "<svg" in page.read_text(encoding="utf-8")
    counts.write_text("[{}]", encoding="utf-8")
    assert run(["storage", "-n", "1000", "-t", "500", "--counts", str(counts)]) == 2


def test_growth_is_measured_and_foretold(capsys: Captured) -> None:
    """A real command at growing sizes; the forecast has an interval."""
    command = [sys.executable, "-c", "import time; time.sleep(1e-5 * {samples})"]
    words = ["scale", "--sizes", "1000,4000,16000", "--targets", "64k", "--repeats", "1", "--format", "json", "--"]
    assert run([*words, *command]) == 0
    told = json.loads(capsys.readouterr().out)
    (forecast,) = told["forecast"]
    assert forecast["size"] == 64_000
    assert forecast["seconds"]["low"] <= forecast["seconds"]["middle"] <= forecast["seconds"]["high"]
    assert run(["scale", "--sizes", "a,b", "--", "true"]) == 2


def test_configurations_are_tried_and_ranked(tmp_path: Path, capsys: Captured) -> None:
    """What gets more done in its time comes first; what failed is told; a journal spares what is done."""
    program = "import json, sys; print(json.dumps(dict(patterns=10 ** (9 * (3 - {depth}))))); sys.exit({depth} == 3)"
    words = ["sweep", "--try", "depth=1-3", "--journal", str(tmp_path / "journal"), "--format", "json", "--"]
    for _ in range(2):
        assert run([*words, sys.executable, "-c", program]) == 0
        told = json.loads(capsys.readouterr().out)
        assert [each["configuration"]["depth"] for each in told["ranking"]] == [1, 2]
        assert [each["configuration"]["depth"] for each in told["failed"]] == [3]
    assert run(["sweep", "--try", "depth", "--", "true"]) == 2
    assert "NAME=VALUES" in capsys.readouterr().err


def test_hardware_is_recommended(example: Path, capsys: Captured) -> None:
    """For a learner and a time; for a plan, among some devices."""
    assert run(["recommend", "--samples", "100000", "--hours", "24", "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["hosts"]
    assert told["database"]
    assert told["database_hosts"]
    words = ["recommend", "--plan", str(example), "--hours", "1", "--device", "RTX_4090_fp16", "--format", "json"]
    assert run(words) == 0
    assert json.loads(capsys.readouterr().out)["devices"]
    assert run(["recommend", "--hours", "3"]) == 2
    capsys.readouterr()
    assert run(["recommend", "--samples", "100000", "--hours", "24"]) == 0
    told_in_words = capsys.readouterr().out
    assert "Machines for the database" in told_in_words
    assert "analyze" not in told_in_words


@pytest.mark.parametrize(
    "command",
    [
        "plan",
        "calibrate",
        "validate",
        "examples",
        "models",
        "hardware",
        "configure",
        "recommend",
        "prices",
        "storage",
        "scale",
        "sweep",
    ],
)
def test_every_help_has_an_example_and_formats(command: str, capsys: Captured) -> None:
    """So that nobody has to look elsewhere."""
    assert run([command, "--help"]) == 0
    told = capsys.readouterr().out
    assert f"flyball {command}" in told.replace("\n", " ")
    assert "--format" in told
