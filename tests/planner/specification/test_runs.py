"""Tests of files of measured runs."""

from functools import partial

import pytest

from flyball_planner.calibration.measured import MeasuredRuns
from flyball_planner.specification.read import read_entry
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
    """The runs of a text."""
    return read_runs(text, file, partial(read_entry, file=file))


def row(cells: str, head: str = "model,device,batch_size,sequence,step_seconds,samples_per_second") -> str:
    """A table of one run."""
    return f"{head}\n{cells}\n"


def test_csv_is_read_with_its_units() -> None:
    """A name and the line tell a run; what is left out is usual; a micro-batch left out is a replica's whole batch."""
    found = read(CSV)
    first, second = found.runs
    assert found.refused == ()
    assert (first.name, second.name) == ("first (runs.csv:3)", "runs.csv:4")
    assert (first.step_seconds, first.allocated_bytes, second.allocated_bytes) == (0.5, 61.5e9, None)
    assert (first.layout.micro_batch, second.layout.micro_batch) == (8, 32)
    assert first.layout.sharding == "zero1"
    assert str(first.kind) == "transformer on A100 SXM4 80GB"


def test_yaml_and_json_have_the_same_keys() -> None:
    """A model may say its own keys; rates stand in place of a step's seconds; tabs are allowed in JSON."""
    first, second = read(YAML, "runs.yaml").runs
    assert first.step_seconds == 0.5
    assert second.step_seconds == pytest.approx(128 / 64_000)
    assert second.training.global_batch == 128
    (only,) = read(JSON, "runs.json").runs
    assert (only.step_seconds, only.memory_column) == (None, "driver_bytes")


def test_a_models_keys_may_be_columns() -> None:
    """As model.d_in; lists stand in brackets."""
    text = row(
        'mlp,784,10,"[512, 256]",RTX_4090_fp16,128,0.01',
        "model,model.d_in,model.d_out,model.layers,device,batch_size,step_seconds",
    )
    (run,) = read(text).runs
    assert read(text).refused == ()
    assert getattr(run.subject, "parameters", 0) == 535_818


def test_a_classical_model_needs_no_batch() -> None:
    """Its seconds are those of the whole fit."""
    text = row("kmeans,100000,20,8,CPU_8C_3.5Ghz_baseline,1.5", "model,model.n,model.p,model.k,device,step_seconds")
    assert read(text).runs[0].step_seconds == 1.5


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ("gpt-two,A100,8,1024,1", "model: unknown model 'gpt-two'"),
        (
            "gpt2,A100_80GB_fp61,8,1024,1",
            "device: there is no hardware named 'A100_80GB_fp61'; did you mean 'A100_80GB_fp16'?",
        ),
        ("gpt2,A100,many,1024,1", "batch_size: expected a whole number of at least 1, not 'many'"),
        ("gpt2,A100,8,1024,-1", "step_seconds: expected a number above 0, not -1"),
        ("gpt2,A100,8,1024,", "step_seconds: is missing; give at least one of step_seconds, samples_per_second"),
        ("gpt2,A100,8,,1", "sequence: is missing"),
        ("gpt2,A100,8,1024,1,90", "samples_per_second: says the time of a step a second time, beside step_seconds"),
        ("gpt2,A100,,1024,1", "batch_size: is missing"),
        (",A100,8,1024,1", "model: is missing"),
        ("gpt2,,8,1024,1", "device: is missing"),
    ],
)
def test_a_run_that_cannot_be_used_is_refused_with_its_reason(cells: str, said: str) -> None:
    """The other runs are read all the same; the column is named, and what was probably meant."""
    found = read(row(cells) + "gpt2,A100,8,1024,1\n")
    assert len(found.runs) == 1
    (refused,) = found.refused
    assert refused.name == "runs.csv:2"
    assert said in refused.reason
    assert "hardware." not in refused.reason


def test_an_impossible_layout_is_refused_in_words() -> None:
    """As a specification's would be."""
    (refused,) = read(
        row("gpt2,A100,8,8,1024,5,1", "model,device,devices,batch_size,sequence,tensor,step_seconds")
    ).refused
    assert "tensor" in refused.reason


@pytest.mark.parametrize(
    ("text", "file", "said"),
    [
        ("modle,step_secs,device\n", "runs.csv", "runs.csv: holds no run"),
        ("modle,device\nx,y\n", "runs.csv", "runs.csv:2: unknown column 'modle'; did you mean 'model'?"),
        ("runs: []\n", "runs.yaml", "holds no run"),
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
def test_a_file_that_is_wrong_itself_is_told_with_its_line(text: str, file: str, said: str) -> None:
    """What no run can be read from."""
    with pytest.raises(SpecificationError) as found:
        read(text, file)
    assert said in str(found.value)


def test_every_column_is_described() -> None:
    """With what is expected and what it means."""
    described = describe_columns()
    assert {"run", "model", "device", "batch_size", "micro_batch", "step_seconds", "driver_bytes"} <= {
        key.name for key in described
    }
    assert all(key.reader.expected and key.meaning for key in described)
