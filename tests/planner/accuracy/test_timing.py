"""Tests of the judges of time: rows read, predictions made from configurations alone, and errors summed up."""

import csv
from pathlib import Path

import pytest

from flyball_planner.accuracy.result import CALIBRATED, COLD, Unsuited
from flyball_planner.accuracy.tables import Configuration, Row, read_tables
from flyball_planner.accuracy.throughput_rows import run_of
from flyball_planner.accuracy.timed_rows import timed_rows
from flyball_planner.accuracy.timing import STRANGENESS, doubt, judge_step_time, likeness
from flyball_planner.accuracy.whole_runs import batch_samples, judge_whole_runs
from flyball_planner.layouts.columns import Layouts
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.precision import Format
from flyball_planner.timing.estimate import estimate_step
from flyball_planner.timing.image_law import image_network
from flyball_planner.training import Attention, Checkpointing, Sharding

GPT = {
    "suite": "made-up", "model": "GPT", "arch": "decoder", "n_layers": "24", "hidden": "2048", "heads": "16",
    "ffn": "8192", "vocab": "50257", "seq_len_or_input": "1024", "gpu": "A100", "n_gpus": "8", "gpus_per_node": "8",
    "precision": "fp16", "framework": "Megatron-style", "act_ckpt": "full", "zero_or_fsdp": "DDP",
}  # fmt: skip
LAYOUTS = [(1, 1, 1), (1, 1, 2), (1, 2, 1), (2, 1, 1), (2, 2, 1), (2, 1, 4), (4, 1, 2), (4, 2, 2), (8, 1, 1), (1, 4, 2)]


def measured_rows(times: float) -> list[dict[str, str]]:
    """Rows of a cluster on which everything takes so many times what is estimated."""
    rows = []
    for position, (tensor, pipeline, micro_batch) in enumerate(LAYOUTS):
        row = {**GPT, "id": f"row-{position}", "tp": str(tensor), "pp": str(pipeline), "micro_batch": str(micro_batch)}
        row |= {"dp": str(8 // (tensor * pipeline)), "global_batch": "64"}
        run = run_of(Configuration(row))
        step = estimate_step(run.subject, run.training, Layouts.of(run.layout), run.machine)
        rows.append({**row, "step_time_s": str(times * float(step.middle[0]))})
    return rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with such a table."""
    rows = measured_rows(1.3)
    with (tmp_path / "throughput.csv").open("w", newline="", encoding="utf-8") as lines:
        writer = csv.DictWriter(lines, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return tmp_path


def test_cold_errors_are_what_they_are_and_five_rows_mend_them(folder: Path) -> None:
    """A cluster 1.3 times slower than estimated is off by 23 %, and by less than half of it after five rows."""
    found = {(each.metric, each.mode): each for each in judge_step_time(read_tables(folder)).results}
    cold, warm = found["step_time", COLD], found["step_time", CALIBRATED]
    assert cold.predicted == cold.eligible == len(LAYOUTS)
    assert cold.mean_ape == pytest.approx(1 - 1 / 1.3, abs=1e-6)
    assert warm.mean_ape is not None
    assert warm.mean_ape < 0.115
    assert cold.rank_correlation == pytest.approx(1)


def test_the_first_choice_is_the_best_where_all_is_equally_slow(folder: Path) -> None:
    """Layouts keep their order, so following the planner costs nothing."""
    found = {(each.metric, each.mode): each for each in judge_step_time(read_tables(folder)).results}
    assert found["layout_regret", COLD].mean_ape == pytest.approx(0)
    assert found["layout_regret", COLD].details["rows"] == len(LAYOUTS)


def test_a_row_is_read_as_it_was_meant() -> None:
    """Dimensions, layout, and what its age says of attention and exchange."""
    run = run_of(Configuration({**GPT, "tp": "2", "pp": "2", "dp": "2", "micro_batch": "4", "global_batch": "64"}))
    assert isinstance(run.subject, TransformerShape)
    assert (run.subject.layers, run.layout.tensor, run.layout.pipeline, run.layout.data) == (24, 2, 2, 2)
    assert run.layout.checkpointing is Checkpointing.FULL
    assert run.training.attention is Attention.MATERIALISED
    assert run.training.framework == "deepspeed"
    assert run.layout.sharding is Sharding.NONE


CORE = {
    **GPT, "framework": "Megatron-Core r0.8.0", "pp": "4", "dp": "2", "micro_batch": "1", "act_ckpt": "", "vpp": "",
    "notes": "overlap-grad-reduce, overlap-param-gather", "zero_or_fsdp": "",
}  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "chunks"),
    [
        ({}, 3),  # six layers a stage, in twos
        ({"vpp": "n/a"}, 3),
        ({"vpp": "2"}, 2),
        ({"n_layers": "20"}, 5),  # five layers a stage, one by one
        ({"framework": "Megatron-style"}, 1),
    ],
)
def test_what_hides_its_messages_holds_several_chunks(columns: dict[str, str], chunks: int) -> None:
    """Modern Megatron's pipelines are interleaved where a row does not tell how deep; old ones never."""
    assert run_of(Configuration({**CORE, **columns})).layout.interleave == chunks


def test_gathered_parameters_were_divided() -> None:
    """A row that overlaps the gathering of parameters has a distributed optimizer."""
    assert run_of(Configuration(CORE)).layout.sharding is Sharding.ZERO1
    assert run_of(Configuration({**CORE, "notes": "", "dp": "2"})).layout.sharding is Sharding.NONE


def test_megatron_bridge_sends_narrow_gradients() -> None:
    """Its recipes for speed reduce in 16 bits, Megatron-Core's defaults in fp32."""
    training = [
        run_of(Configuration({**CORE, "framework": name, "precision": "bf16"})).training
        for name in ("Megatron-Bridge 26.04", "Megatron-Core r0.8.0")
    ]
    assert [each.fp32_gradients for each in training] == [False, True]


def test_a_table_without_a_column_of_precisions_is_of_8_bits() -> None:
    """Megatron-Bridge's of release 25.09 is; where nothing at all is said, 16 bits are usual."""
    bridge = {**CORE, "framework": "Megatron-Bridge 25.09", "gpu": "DGX-H100"}
    untold = run_of(Configuration({**bridge, "precision": "not in table (25.09)"}))
    assert untold.training.precision.compute is Format.FP8
    assert run_of(Configuration({**bridge, "precision": ""})).training.precision.compute is Format.BF16


@pytest.mark.parametrize(("precision", "fused"), [("amp fp16", True), ("tf32", False), ("fp32", False)])
def test_mxnets_norms_are_fused_in_16_bits_alone(precision: str, fused: bool) -> None:
    """Its kernels for wider numbers do one step each."""
    row = {
        "model": "ResNet-50 v1.5", "seq_len_or_input": "3x224x224", "gpu": "A100-80GB", "n_gpus": "1",
        "micro_batch": "192", "precision": precision, "framework": "MXNet + DALI, NHWC",
    }  # fmt: skip
    assert run_of(Configuration(row)).training.compiled is fused


def test_a_run_of_another_kind_is_doubted() -> None:
    """Each of device, kind of model and arithmetic that differs makes what it teaches less sure."""
    usual = {**GPT, "id": "usual", "dp": "8", "micro_batch": "1", "global_batch": "64", "step_time_s": "1"}
    changes: list[dict[str, str]] = [{}, {"gpu": "V100"}, {"gpu": "V100", "precision": "fp32"}]
    rows = [Row("", "", "", Configuration({**usual, **change}), {"step_time_s": "1"}) for change in changes]
    first, *others = timed_rows(rows, "step_time").timed
    assert doubt(first, likeness(first)) == 0
    assert [doubt(each, likeness(first)) for each in others] == pytest.approx([STRANGENESS, STRANGENESS * 2**0.5])


def test_a_power_cap_slows_the_clock() -> None:
    """A device held to 500 of 700 W computes at five sevenths of its rate, with the memory that the row tells."""
    row = {**GPT, "gpu": "H100-96GB HBM2e (2.4 TB/s, 500 W cap)", "dp": "8", "micro_batch": "1"}
    device = run_of(Configuration(row)).machine.device
    assert device.memory_bytes_per_second == 2.4e12
    assert max(device.flops_per_second.values()) == pytest.approx(1979e12 * 5 / 7)


def test_rows_that_say_too_little_are_not_judged() -> None:
    """Many devices without a word on how the model is spread tell nobody how long a step takes."""
    with pytest.raises(Unsuited, match="spread"):
        run_of(Configuration({**GPT, "zero_or_fsdp": ""}))


def test_a_whole_run_is_judged_by_its_device_hours(tmp_path: Path) -> None:
    """TinyLlama's 300 billion tokens took 3,456 hours of an A100: the search's own layout comes within a half."""
    (tmp_path / "runs.csv").write_text(
        "id,model,arch,params,tokens,n_layers,hidden,heads,seq_len,global_batch,gpu,n_gpus,gpu_hours\n"
        "tiny,TinyLlama 1.1B,decoder,1100048384,300000000000,22,2048,32,2048,1024,A100-40GB,16,3456\n",
        encoding="utf-8",
    )
    found = judge_whole_runs(read_tables(tmp_path)).results[0]
    assert found.metric == "total_time"
    assert found.mean_ape is not None
    assert found.mean_ape < 0.5


@pytest.mark.parametrize(("stated", "samples"), [("512", 512), ("4M tokens", 1953), ("0.5 M tokens", 244), ("", 0)])
def test_batches_are_told_in_samples_or_in_tokens(stated: str, samples: int) -> None:
    """Four million tokens are 1,953 samples of 2,048."""
    assert batch_samples(stated, 2048) == samples


def test_networks_known_by_their_parameters_grow_with_them_and_their_input() -> None:
    """More parameters and more pixels are more FLOPs; small kinds use each weight less often."""
    usual = image_network("resnet_like", 25_000_000, 224)
    assert usual.forward_flops == pytest.approx(2 * 160 * 25e6, rel=0.01)
    assert image_network("resnet_like", 25_000_000, 448).forward_flops == pytest.approx(4 * usual.forward_flops)
    assert image_network("mobilenet_like", 25_000_000, 224).forward_flops < usual.forward_flops / 2
    assert "parameters alone" in usual.assumptions[0]
