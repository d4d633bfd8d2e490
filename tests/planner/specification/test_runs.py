"""Tests of files of measured runs."""

from functools import partial

import pytest

from flyball_planner.calibration.measured_runs import MeasuredRuns
from flyball_planner.specification.reader import read_entry
from flyball_planner.specification.runs import describe_columns, read_runs
from flyball_reports.specification.problems import SpecificationError

CSV = """\
# of our cluster
run,model,device,devices,batch_size,sequence,micro_batch,sharding,step_seconds,allocated_bytes
first,gpt2,A100_80GB_fp16,8,512,1024,8,zero1,0.5,61.5G
,gpt2,A100_80GB_fp16,8,256,1024,,,0.26,
"""
YAML = """\
runs:
  - {run: first, model: gpt2, device: A100_80GB_fp16, devices: 8, batch_size: 512, sequence: 1024, step_seconds: 0.5}
  - model: {name: mlp, d_in: 784, d_out: 10, layers: [512, 256], batch_size: 128}
    device: RTX_4090_fp16
    samples_per_second: 64k
"""
JSON = '{\n\t"runs": [{"model": "gpt2", "device": "H100 SXM", "sequence": 1024, "batch_size": 8, "driver_bytes": 9e9}]}'


def read(text: str, file: str = "runs.csv") -> MeasuredRuns:
    """Read the runs of a text."""
    return read_runs(text, file, partial(read_entry, file=file))


def row(cells: str, head: str = "model,device,batch_size,sequence,step_seconds,samples_per_second") -> str:
    """Return a table with one run."""
    return f"{head}\n{cells}\n"


def test_csv_is_read_with_its_units() -> None:
    """A run is identified by name and line; a missing micro-batch means the batch of a replica."""
    found = read(CSV)
    first, second = found.runs
    assert found.refused == ()
    assert (first.name, second.name) == ("first (runs.csv:3)", "runs.csv:4")
    assert (first.step_seconds, first.allocated_bytes, second.allocated_bytes) == (0.5, 61.5e9, None)
    assert (first.layout.micro_batch, second.layout.micro_batch) == (8, 32)
    assert first.layout.sharding == "zero1"
    assert str(first.kind) == "transformer on A100 SXM4 80GB"


def test_yaml_and_json_have_the_same_keys() -> None:
    """A model can have its own keys, a rate can replace the step time, and JSON can contain tabs."""
    first, second = read(YAML, "runs.yaml").runs
    assert first.step_seconds == 0.5
    assert second.step_seconds == pytest.approx(128 / 64_000)
    assert second.training.global_batch == 128
    (only,) = read(JSON, "runs.json").runs
    assert (only.step_seconds, only.memory_column) == (None, "driver_bytes")


def test_a_models_keys_can_be_columns() -> None:
    """Columns such as model.d_in are keys of the model; lists are written in brackets."""
    text = row(
        'mlp,784,10,"[512, 256]",RTX_4090_fp16,128,0.01',
        "model,model.d_in,model.d_out,model.layers,device,batch_size,step_seconds",
    )
    (run,) = read(text).runs
    assert read(text).refused == ()
    assert getattr(run.subject, "parameters", 0) == 535_818


def test_a_classical_model_needs_no_batch() -> None:
    """The seconds of a classical model are those of the complete fit."""
    text = row("kmeans,100000,20,8,CPU_8C_3.5Ghz_baseline,1.5", "model,model.n,model.p,model.k,device,step_seconds")
    assert read(text).runs[0].step_seconds == 1.5


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ("gpt-two,A100,8,1024,1", "model: unknown model 'gpt-two'"),
        (
            "gpt2,A100_80GB_fp61,8,1024,1",
            "device: there is no device named 'A100_80GB_fp61'; did you mean 'A100_80GB_fp16'?",
        ),
        ("gpt2,A100,many,1024,1", "batch_size: expected an integer of at least 1, not 'many'"),
        ("gpt2,A100,8,1024,-1", "step_seconds: expected a number above 0, not -1"),
        (
            "gpt2,A100,8,1024,",
            "step_seconds: is missing; at least one of these is required: step_seconds, samples_per_second",
        ),
        ("gpt2,A100,8,,1", "sequence: is missing"),
        ("gpt2,A100,8,1024,1,90", "samples_per_second: is redundant with step_seconds"),
        ("gpt2,A100,,1024,1", "batch_size: is missing"),
        (",A100,8,1024,1", "model: is missing"),
        ("gpt2,,8,1024,1", "device: is missing"),
    ],
)
def test_an_unusable_run_is_refused_with_its_reason(cells: str, reason: str) -> None:
    """The reason names the column and the nearest known name; the other runs are still read."""
    found = read(row(cells) + "gpt2,A100,8,1024,1\n")
    assert len(found.runs) == 1
    (refused,) = found.refused
    assert refused.name == "runs.csv:2"
    assert reason in refused.reason
    assert "hardware." not in refused.reason


def test_a_missing_batch_is_named_before_an_impossible_layout() -> None:
    """A layout that an assumed batch would break is not the reason: the batch is missing."""
    found = read(row("gpt2,A100,8,,1024,12,1", "model,device,devices,batch_size,sequence,micro_batch,step_seconds"))
    (refused,) = found.refused
    assert refused.reason == "batch_size: is missing; expected the samples per optimizer step over all devices"


@pytest.mark.parametrize(
    ("column", "word", "expected"),
    [
        ("method", "adalora", "expected one of full, lora"),
        ("batch_size", "auto", "expected an integer"),
        ("precision", "posit16", "expected one of fp32"),
        ("precision", "bfloat", "expected one of fp32"),
        ("offload", "nvme", "expected one of none, optimizer"),
        ("sharding", "zero9", "expected one of none, zero1"),
        ("checkpointing", "every-2", "expected one of none, light, selective"),
        ("checkpointing", "yes", "expected one of none, light, selective"),  # which kind is not stated
        ("checkpointing", "on", "expected one of none, light, selective"),
        ("sharding", "true", "expected one of none, zero1"),
        ("optimizer", "galore", "there is no optimizer named"),
        ("attention", "linear", "expected one of flash"),
        ("framework", "unsloth", "expected one of pytorch"),
        ("tensor", "auto", "expected an integer"),
    ],
)
def test_a_word_that_is_not_understood_is_refused(column: str, word: str, expected: str) -> None:
    """An unknown word is the reason for refusing its run; it never becomes a default."""
    columns = {"model": "gpt2", "device": "A100", "batch_size": "8", "sequence": "1024", "step_seconds": "1"}
    changed = {**columns, column: word}
    found = read(row(",".join(changed.values()), ",".join(changed)))
    assert not found.runs
    assert f"{column}: " in found.refused[0].reason
    assert expected in found.refused[0].reason


def test_an_impossible_layout_is_refused_with_a_reason() -> None:
    """A run with an impossible layout is refused, as it would be in a specification."""
    (refused,) = read(
        row("gpt2,A100,8,8,1024,5,1", "model,device,devices,batch_size,sequence,tensor,step_seconds")
    ).refused
    assert "tensor" in refused.reason


@pytest.mark.parametrize(
    ("text", "file", "message"),
    [
        ("modle,step_secs,device\n", "runs.csv", "runs.csv: contains no run"),
        ("modle,device\nx,y\n", "runs.csv", "runs.csv:2: unknown column 'modle'; did you mean 'model'?"),
        ("runs: []\n", "runs.yaml", "contains no run"),
        ("runs: {}\n", "runs.yaml", "runs.yaml:1: runs: expected a list of runs under this key"),
        ("a: 1\n", "runs.yaml", "expected a list of runs under this key"),
        ("runs:\n  - 3\n", "runs.yaml", "runs.yaml:2: runs: expected the keys of a run, not 3"),
        (
            "runs:\n  - model: gpt2\n    stepseconds: 3\n",
            "runs.yaml",
            "runs.yaml:3: unknown column 'stepseconds'; did you mean 'step_seconds'?",
        ),
        ("runs: [\n", "runs.yaml", "runs.yaml:2: "),
    ],
)
def test_an_invalid_file_is_reported_with_its_line(text: str, file: str, message: str) -> None:
    """A file from which no run can be read is an error."""
    with pytest.raises(SpecificationError) as caught:
        read(text, file)
    assert message in str(caught.value)


def test_every_column_is_described() -> None:
    """Every column has an expected value and a meaning."""
    described = describe_columns()
    assert {"run", "model", "device", "batch_size", "micro_batch", "step_seconds", "driver_bytes"} <= {
        key.name for key in described
    }
    assert all(key.reader.expected and key.meaning for key in described)
