"""The planning commands: formats, files, exit statuses and errors."""

import json
import sys
from pathlib import Path

import msgspec
import pytest

from flyball.command import run
from flyball_planner.catalogue.devices import REGISTRY
from flyball_planner.plan.plan import Plan
from flyball_planner.specification.example_files import example_names, example_text

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """Write a specification that is planned quickly."""
    path = tmp_path / "run.yaml"
    path.write_text("model: gpt2\nhardware: RTX_4090_fp16\ntraining: {batch_size: 32, steps: 100}\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("name", example_names())
def test_the_examples_are_planned_in_all_formats(name: str, tmp_path: Path, capsys: Captured) -> None:
    """A table on the screen; files have the format of their suffix; JSON matches the documented types."""
    path = tmp_path / f"{name}.yaml"
    path.write_text(example_text(name), encoding="utf-8")
    assert run(["plan", str(path)]) == 0
    assert "Limited by" in capsys.readouterr().out
    for suffix in ("md", "json", "html", "txt"):
        assert run(["plan", str(path), "--output", str(tmp_path / f"plan.{suffix}")]) == 0
    assert (tmp_path / "plan.md").read_text(encoding="utf-8").startswith("# ")
    assert (tmp_path / "plan.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    plan = msgspec.convert(json.loads((tmp_path / "plan.json").read_text(encoding="utf-8")), Plan)
    assert plan.computation.estimated_train_time_human


def test_json_is_the_only_output(example: Path, capsys: Captured) -> None:
    """So it can be piped."""
    assert run(["plan", str(example), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert 0 < document["memory"]["utilization_percent"] < 100


def test_the_report_section_sets_what_the_command_line_does_not(tmp_path: Path) -> None:
    """Its file is relative to the specification."""
    path = tmp_path / "run.yaml"
    path.write_text(
        "model: gpt2\nhardware: M1_Pro\ntraining: {steps: 1}\nreport: {output: plan.html}\n", encoding="utf-8"
    )
    assert run(["plan", str(path)]) == 0
    assert "<svg" in (tmp_path / "plan.html").read_text(encoding="utf-8")


def test_a_report_can_omit_charts_and_recommendations(tmp_path: Path) -> None:
    """A specification's own choice leaves out both, and nothing else of the page."""
    text = "model: gpt2\nhardware: RTX_4090_fp16\ntraining: {batch_size: 32, steps: 100}\n"
    pages = []
    for report in ("", "report: {include_plots: false, include_recommendations: false}\n"):
        path = tmp_path / "run.yaml"
        path.write_text(text + report, encoding="utf-8")
        assert run(["plan", str(path), "--output", str(tmp_path / "plan.html")]) == 0
        pages.append((tmp_path / "plan.html").read_text(encoding="utf-8"))
    complete, short = pages
    assert "<svg" in complete
    assert ">Recommendations<" in complete
    assert "<svg" not in short
    assert ">Recommendations<" not in short
    assert ">Host memory<" in short


def test_validate_lists_all_faults_of_all_files(example: Path, tmp_path: Path, capsys: Captured) -> None:
    """Also as JSON, for editors."""
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("model: {name: mlp}\nhardware: nothing\nextra: 1\n", encoding="utf-8")
    assert run(["validate", str(example), str(wrong)]) == 2
    document = capsys.readouterr().out
    assert f"{example}: valid" in document
    assert document.count(str(wrong)) >= 3
    assert run(["validate", str(wrong), "--format", "json"]) == 2
    (result,) = json.loads(capsys.readouterr().out)
    assert {problem["key"] for problem in result["problems"]} >= {"model.d_in", "hardware.device", "extra"}
    assert all(problem["line"] for problem in result["problems"])


def test_examples_are_listed_printed_and_written(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an option all are written to the folder examples; a changed file is only overwritten by --force."""
    monkeypatch.chdir(tmp_path)
    assert run(["examples", "--list"]) == 0
    assert all(name in capsys.readouterr().out for name in ("transformer",))
    assert run(["examples", "transformer"]) == 0
    assert capsys.readouterr().out == example_text("transformer")
    assert not list(tmp_path.iterdir())
    assert run(["examples"]) == 0
    written = capsys.readouterr()
    assert {path.stem for path in Path("examples").iterdir()} == set(example_names())
    assert all(f"Wrote examples/{name}.yaml" in written.err for name in example_names())
    assert "flyball plan examples/transformer.yaml" in written.out
    changed = Path("examples/transformer.yaml")
    changed.write_text("model: gpt2\n", encoding="utf-8")
    assert run(["examples"]) == 1
    assert "examples/transformer.yaml: changed since it was written, not overwritten" in capsys.readouterr().err
    assert changed.read_text(encoding="utf-8") == "model: gpt2\n"
    assert run(["examples", "--force"]) == 0
    assert changed.read_text(encoding="utf-8") == example_text("transformer")
    assert run(["examples", "tronsformer"]) == 2
    assert "did you mean 'transformer'?" in capsys.readouterr().err


def test_examples_are_written_to_a_named_folder(tmp_path: Path, capsys: Captured) -> None:
    """`--write` names the folder; unchanged files are left as they are."""
    folder = tmp_path / "new" / "folder"
    assert run(["examples", "--write", str(folder)]) == 0
    assert run(["examples", "transformer", "--write", str(folder)]) == 0
    assert "exists already" in capsys.readouterr().err
    assert {path.stem for path in folder.iterdir()} == set(example_names())
    assert run(["examples", "--write", str(folder / "transformer.yaml")]) == 2
    assert "is a file; name a folder" in capsys.readouterr().err


def test_a_part_of_a_models_name_is_answered_with_all_models_that_contain_it(tmp_path: Path, capsys: Captured) -> None:
    """The nearest one alone could be of another generation."""
    path = tmp_path / "run.yaml"
    path.write_text("model: llama\nhardware: M1_Pro\n", encoding="utf-8")
    assert run(["plan", str(path)]) == 2
    planned = capsys.readouterr().err
    assert run(["models", "--details", "llama"]) == 2
    for message in (planned, capsys.readouterr().err):
        assert all(name in message for name in ("did you mean one of", "llama-2-7b", "llama-3-8b"))


@pytest.mark.parametrize("words", [["validate", "run.yaml"], ["examples"]])
@pytest.mark.parametrize("form", ["html", "markdown"])
def test_short_lists_have_no_report_formats(words: list[str], form: str, capsys: Captured) -> None:
    """An unknown format is rejected with the list of known ones."""
    assert run([*words, "--format", form]) == 2
    document = capsys.readouterr()
    assert document.out == ""
    assert f"--format {form}: expected one of table, json." in document.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["plan", "run.yaml", "--output", "plan.pdf"], ".pdf is not a known format; use .md, .json"),
        (["prices", "H100_80GB_fp16", "--hours", "nan"], "--hours nan: expected a finite number"),
        (["models", "--details", "zzz"], "`flyball models` lists all"),
        (["sweep", "--try", "a=1", "--try", "a=2", "--", "true"], "a name is given twice"),
        (["sweep", "--try", "a=5-3", "--", "true"], "the first value is larger than the last; use a=3-5"),
        (["sweep", "--try", "a=1", "--output", "ranking.pdf", "--", "true"], ".pdf is not a known format"),
        (["scale", "--output", "growth.pdf", "--", "true"], ".pdf is not a known format"),
        (["scale", "--sizes", "1,1,2", "--", "touch", "it"], "at least 3 different sizes are needed"),
        (["scale", "--budget", "nan", "--", "touch", "it"], "--budget nan: expected a finite number"),
        (["sweep", "--try", "a=1-100000000", "--", "touch", "it"], "100,000,000 configurations exceed the limit"),
        (["sweep", "--try", "a=1,,2", "--", "touch", "it"], "expected NAME=VALUES"),
        (["sweep", "--try", "a=1", "--timeout", "nan", "--", "touch", "it"], "--timeout nan"),
        (["sweep", "--try", "a=1", "--journal", "run.yaml", "--", "touch", "it"], "--journal: run.yaml:1 is not a"),
        (["sweep", "--try", "a=1", "--retry-failed", "--", "touch", "it"], "--retry-failed needs --journal"),
        (["storage", "-n", "10", "-t", "nan"], "--tokens nan: expected a finite number"),
        (["storage", "-n", "10", "-t", "inf"], "--tokens inf: expected 0.001 to 1e12"),
        (["examples", "zzz"], "the examples are linear_regression, deep_learning, transformer"),
        (["storage", "-n", "10", "-t", "5", "--nodes", "100000"], "--nodes 100,000: expected 1 to 32"),
        (
            ["storage", "-n", "10", "-t", "5", "--counts", "none.json"],
            "no file none.json; expected a list in JSON",
        ),
        (["configure", "A100", "--days", "nan"], "--days nan: expected a finite number"),
        (["configure", "A100", "--write", "run.yaml"], "run.yaml is a file; name a folder"),
        (["hardware", "--details", "A100", "--kind", "cpu"], "--kind filters the list"),
        (["recommend", "--hours", "nan", "--samples", "10"], "--hours nan"),
        (["recommend", "--hours", "1e-300", "--samples", "10"], "--hours 1e-300: expected 0.001 to 1,000,000"),
        (["recommend", "--hours", "1", "--samples", "10", "--device", "A100"], "--device has no effect with --samples"),
        (["recommend", "--hours", "1", "--plan", "run.yaml", "--tokens", "9"], "--tokens has no effect with --plan"),
        (["prices", "--plan", "run.yaml", "--hours", "3"], "--hours and --devices follow from --plan"),
    ],
)
def test_wrong_arguments_are_rejected(
    words: list[str], message: str, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With status 2, before anything is run or written."""
    monkeypatch.chdir(tmp_path)
    Path("run.yaml").write_text("model: gpt2\nhardware: M1_Pro\ntraining: {steps: 1}\n", encoding="utf-8")
    assert run(words) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["run.yaml"]


def test_a_device_without_the_precision_is_an_error_and_is_not_recommended(tmp_path: Path, capsys: Captured) -> None:
    """Some generations of TPUs do not compute with 32 bits."""
    path = tmp_path / "run.yaml"
    path.write_text(
        "model: gpt2\nhardware: TPU v5e\ntraining: {steps: 1, batch_size: 8, precision: fp32}\n", encoding="utf-8"
    )
    assert run(["plan", str(path)]) == 2
    assert "TPU v5e does not support fp32 or a wider format" in capsys.readouterr().err
    path.write_text(path.read_text(encoding="utf-8").replace("TPU v5e", "H100_80GB_fp16"), encoding="utf-8")
    assert run(["recommend", "--plan", str(path), "--hours", "1", "--format", "json"]) == 0
    devices = [each["device"] for each in json.loads(capsys.readouterr().out)["devices"]]
    assert devices
    assert "TPU v5e" not in devices


def test_examples_can_be_printed_as_json(capsys: Captured) -> None:
    """One or all."""
    assert run(["examples", "transformer", "--format", "json"]) == 0
    assert [each["name"] for each in json.loads(capsys.readouterr().out)] == ["transformer"]


def test_models_and_hardware_are_listed_with_details(capsys: Captured) -> None:
    """A name as an argument or with --details shows the details; without a name, or with --list, all are listed."""
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
    for words in (["hardware"], ["hardware", "--list"]):
        assert run(words) == 0
        assert "H100_80GB_fp16" in capsys.readouterr().out
    for words in (["hardware", "rtx 4090"], ["hardware", "--details", "rtx 4090"]):
        assert run(words) == 0
        shown = capsys.readouterr().out
        assert "24.0 GiB" in shown
        assert "H100" not in shown
    assert run(["models", "mlp"]) == 0
    assert "d_in" in capsys.readouterr().out
    for words in (
        ["models", "--details", "mlpp"],
        ["hardware", "H1000"],
        ["hardware", "--details", "H1000"],
        ["hardware", "H100", "--details", "A100"],
        ["hardware", "H100", "--list"],
    ):
        assert run(words) == 2
        assert "Traceback" not in capsys.readouterr().err


def test_own_devices_come_from_a_file(tmp_path: Path, capsys: Captured) -> None:
    """A specification can name them. A file that does not exist is an error."""
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
    """All three are valid specifications."""
    assert run(["configure", "RTX_3060_fp16", "--write", str(tmp_path), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in document] == ["conservative", "balanced", "extreme"]
    assert all(len(each["phases"]) == 2 for each in document)
    for each in document:
        assert run(["validate", str(tmp_path / f"{each['name']}.yaml")]) == 0
    assert run(["configure", "RTX_3060_fp16", "--kind", "balanced"]) == 0
    text = capsys.readouterr().out
    assert "Balanced" in text
    assert "Family of devices: RTX 30." in text


def test_configurations_of_an_own_device_name_its_file(tmp_path: Path, capsys: Captured) -> None:
    """They can be planned as they are, from any folder, without --hardware-file."""
    own, folder = tmp_path / "own.yaml", tmp_path / "made" / "here"
    own.write_text("devices: [{name: Abacus 9, like: A100 80GB}]\n", encoding="utf-8")
    words = ["configure", "Abacus 9", "--kind", "balanced", "--hardware-file", str(own), "--write", str(folder)]
    assert run(words) == 0
    REGISTRY.clear()
    capsys.readouterr()
    assert run(["plan", str(folder / "balanced.yaml"), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["hardware"]["device"] == "Abacus 9"


def test_storage_is_estimated_by_level(tmp_path: Path, capsys: Captured) -> None:
    """With the keys that scripts use; counts of a training are taken into account."""
    assert run(["storage", "-n", "1000000", "-t", "500", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["total_storage_gb"] > 0
    assert [each["name"] for each in document["level_estimates"]] == ["node0", "node1", "node2", "node3"]
    assert document["level_estimates"][0]["storage_mb"] > document["level_estimates"][1]["storage_mb"]
    counts = tmp_path / "counts.json"
    counts.write_text('[{"level": 0, "observations": 1e6, "unique": 1e5, "storage_bytes": 5e7}]', encoding="utf-8")
    page = tmp_path / "storage.html"
    assert run(["storage", "-n", "1000", "-t", "500", "--counts", str(counts), "--output", str(page)]) == 0
    assert "<svg" in page.read_text(encoding="utf-8")
    counts.write_text("[{}]", encoding="utf-8")
    assert run(["storage", "-n", "1000", "-t", "500", "--counts", str(counts)]) == 2


def test_growth_is_measured_and_predicted(capsys: Captured) -> None:
    """A real command runs with growing sizes; the forecast has a range, whether or not the times show a law."""
    command = [sys.executable, "-c", "import time; time.sleep(1e-5 * {samples})"]
    words = ["scale", "--sizes", "1000,4000,16000", "--targets", "64k", "--repeats", "1", "--format", "json", "--"]
    assert run([*words, *command]) == 0
    document = json.loads(capsys.readouterr().out)
    (forecast,) = document["forecast"]
    assert forecast["size"] == 64_000
    assert forecast["range_seconds"]["low"] <= forecast["range_seconds"]["high"]
    assert run(["scale", "--sizes", "a,b", "--", "true"]) == 2


def test_configurations_are_tried_and_ranked(tmp_path: Path, capsys: Captured) -> None:
    """The fastest comes first; failures are listed; results of the journal are not measured again."""
    program = "import json, sys; print(json.dumps(dict(patterns=10 ** (9 * (3 - {depth}))))); sys.exit({depth} == 3)"
    words = ["sweep", "--try", "depth=1-3", "--journal", str(tmp_path / "journal"), "--format", "json", "--"]
    for _ in range(2):
        assert run([*words, sys.executable, "-c", program]) == 0
        document = json.loads(capsys.readouterr().out)
        assert [each["configuration"]["depth"] for each in document["ranking"]] == [1, 2]
        assert [each["configuration"]["depth"] for each in document["failed"]] == [3]
    assert run(["sweep", "--try", "depth", "--", "true"]) == 2
    assert "NAME=VALUES" in capsys.readouterr().err


def test_hardware_is_recommended(example: Path, capsys: Captured) -> None:
    """For a learner and a time, and for a plan among given devices."""
    assert run(["recommend", "--samples", "100000", "--hours", "24", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["hosts"]
    assert document["database"]
    assert document["database_hosts"]
    words = ["recommend", "--plan", str(example), "--hours", "1", "--device", "RTX_4090_fp16", "--format", "json"]
    assert run(words) == 0
    assert json.loads(capsys.readouterr().out)["devices"]
    assert run(["recommend", "--hours", "3"]) == 2
    capsys.readouterr()
    assert run(["recommend", "--samples", "100000", "--hours", "24"]) == 0
    text = capsys.readouterr().out
    assert "Machines for the database" in text
    assert "analyze" not in text
