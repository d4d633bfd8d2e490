"""Tests of judging step time: reading rows, predicting from configurations only and summarising errors."""

import csv
from pathlib import Path

import pytest

from flyball_planner.accuracy.result import CALIBRATED, COLD, Unsuited
from flyball_planner.accuracy.tables import RowConfiguration, TableRow, read_tables
from flyball_planner.accuracy.throughput_rows import run_of
from flyball_planner.accuracy.timed_rows import timed_rows
from flyball_planner.accuracy.timing import STRANGENESS, judge_step_time, likeness, uncertainty_of
from flyball_planner.accuracy.whole_runs import batch_samples, judge_whole_runs
from flyball_planner.layouts.layout import Layouts
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.precision import NumberFormat
from flyball_planner.timing.estimate import estimate_step
from flyball_planner.timing.image_law import image_network
from flyball_planner.training import Attention, Checkpointing, Sharding

GPT = {
    "suite": "made-up", "model": "GPT", "arch": "decoder", "n_layers": "24", "hidden": "2048", "heads": "16",
    "ffn": "8192", "vocab": "50257", "seq_len_or_input": "1024", "gpu": "A100", "n_gpus": "8", "gpus_per_node": "8",
    "precision": "fp16", "framework": "Megatron-style", "act_ckpt": "full", "zero_or_fsdp": "DDP",
}  # fmt: skip
LAYOUTS = [(1, 1, 1), (1, 1, 2), (1, 2, 1), (2, 1, 1), (2, 2, 1), (2, 1, 4), (4, 1, 2), (4, 2, 2), (8, 1, 1), (1, 4, 2)]


def measured_rows(factor: float) -> list[dict[str, str]]:
    """Return rows of a cluster on which every step takes this factor longer than estimated."""
    rows = []
    for position, (tensor, pipeline, micro_batch) in enumerate(LAYOUTS):
        row = {**GPT, "id": f"row-{position}", "tp": str(tensor), "pp": str(pipeline), "micro_batch": str(micro_batch)}
        row |= {"dp": str(8 // (tensor * pipeline)), "global_batch": "64"}
        run = run_of(RowConfiguration(row))
        step = estimate_step(run.subject, run.training, Layouts.of(run.layout), run.machine)
        rows.append({**row, "step_time_s": str(factor * float(step.middle[0]))})
    return rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with such a table, with a factor of 1.3."""
    rows = measured_rows(1.3)
    with (tmp_path / "throughput.csv").open("w", newline="", encoding="utf-8") as lines:
        writer = csv.DictWriter(lines, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return tmp_path


def test_calibration_with_five_rows_reduces_the_cold_error(folder: Path) -> None:
    """On a cluster 1.3 times slower than estimated the error is 23 %, and less than half of that after five rows."""
    found = {(each.metric, each.mode): each for each in judge_step_time(read_tables(folder)).results}
    cold, warm = found["step_time", COLD], found["step_time", CALIBRATED]
    assert cold.predicted == cold.eligible == len(LAYOUTS)
    assert cold.mean_ape == pytest.approx(1 - 1 / 1.3, abs=1e-6)
    assert warm.mean_ape is not None
    assert warm.mean_ape < 0.115
    assert cold.rank_correlation == pytest.approx(1)


def test_a_uniform_slowdown_causes_no_layout_regret(folder: Path) -> None:
    """A uniform slowdown keeps the order of layouts, so the planner's choice is still the fastest."""
    found = {(each.metric, each.mode): each for each in judge_step_time(read_tables(folder)).results}
    assert found["layout_regret", COLD].mean_ape == pytest.approx(0)
    assert found["layout_regret", COLD].details["rows"] == len(LAYOUTS)


def test_a_row_is_read_completely() -> None:
    """A row gives dimensions, layout, framework, and the attention and sharding usual for its age."""
    run = run_of(RowConfiguration({**GPT, "tp": "2", "pp": "2", "dp": "2", "micro_batch": "4", "global_batch": "64"}))
    assert isinstance(run.subject, TransformerShape)
    assert (run.subject.layers, run.layout.tensor, run.layout.pipeline, run.layout.data) == (24, 2, 2, 2)
    assert run.layout.checkpointing is Checkpointing.FULL
    assert run.training.attention is Attention.MATERIALISED
    assert run.training.framework == "megatron-lm"
    assert run.layout.sharding is Sharding.NONE


CORE = {
    **GPT, "framework": "Megatron-Core r0.8.0", "pp": "4", "dp": "2", "micro_batch": "1", "act_ckpt": "", "vpp": "",
    "notes": "overlap-grad-reduce, overlap-param-gather", "zero_or_fsdp": "",
}  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "chunks"),
    [
        ({}, 3),  # six layers per stage, in chunks of two
        ({"vpp": "n/a"}, 3),
        ({"vpp": "2"}, 2),
        ({"n_layers": "20"}, 5),  # five layers per stage, in chunks of one
        ({"framework": "Megatron-style"}, 1),
    ],
)
def test_modern_megatron_pipelines_are_interleaved(columns: dict[str, str], chunks: int) -> None:
    """Modern Megatron's pipelines are interleaved even if a row does not give the depth; old ones are not."""
    assert run_of(RowConfiguration({**CORE, **columns})).layout.interleave == chunks


def test_overlapped_parameter_gathering_means_zero1() -> None:
    """A row that overlaps the gathering of parameters uses a distributed optimizer."""
    assert run_of(RowConfiguration(CORE)).layout.sharding is Sharding.ZERO1
    assert run_of(RowConfiguration({**CORE, "notes": "", "dp": "2"})).layout.sharding is Sharding.NONE


def test_megatron_bridge_reduces_gradients_in_16_bits() -> None:
    """Megatron-Bridge's performance recipes reduce gradients in 16 bits, Megatron-Core by default in fp32."""
    training = [
        run_of(RowConfiguration({**CORE, "framework": name, "precision": "bf16"})).training
        for name in ("Megatron-Bridge 26.04", "Megatron-Core r0.8.0")
    ]
    assert [each.fp32_gradients for each in training] == [False, True]


def test_megatron_bridge_reduces_sharded_gradients_in_16_bits() -> None:
    """Fully sharded weights are in fp32; Megatron-Bridge still sums gradients in 16 bits, PyTorch in 32."""
    sharded = {**CORE, "precision": "bf16", "pp": "1", "dp": "8", "zero_or_fsdp": "FSDP=8", "notes": ""}
    found = [
        run_of(RowConfiguration({**sharded, "framework": name})).training.precision
        for name in ("Megatron-Bridge 26.04", "PyTorch FSDP2")
    ]
    assert [each.weights for each in found] == [NumberFormat.FP32] * 2
    assert [each.gradients for each in found] == [NumberFormat.BF16, NumberFormat.FP32]


@pytest.mark.parametrize(
    ("framework", "fused"), [("PyTorch FSDP2", False), ("PyTorch FSDP2 (Transformer Engine)", True)]
)
def test_transformer_engine_fuses_kernels(framework: str, fused: bool) -> None:
    """Norms and activations of Transformer Engine are single kernels."""
    row = {**GPT, "framework": framework, "dp": "8", "micro_batch": "1", "precision": "bf16"}
    assert run_of(RowConfiguration(row)).training.compiled is fused


def test_megatron_bridge_25_09_means_8_bits() -> None:
    """Megatron-Bridge's table of release 25.09 lists 8-bit runs; a row without any precision is not guessed."""
    bridge = {**CORE, "framework": "Megatron-Bridge 25.09", "gpu": "DGX-H100"}
    without_column = run_of(RowConfiguration({**bridge, "precision": "not in table (25.09)"}))
    assert without_column.training.precision.compute is NumberFormat.FP8
    with pytest.raises(Unsuited, match="no precision"):
        run_of(RowConfiguration({**bridge, "precision": ""}))


@pytest.mark.parametrize(("precision", "fused"), [("amp fp16", True), ("tf32", False), ("fp32", False)])
def test_mxnet_fuses_norms_only_in_16_bits(precision: str, fused: bool) -> None:
    """MXNet's kernels for wider formats are not fused."""
    row = {
        "model": "ResNet-50 v1.5", "seq_len_or_input": "3x224x224", "gpu": "A100-80GB", "n_gpus": "1",
        "micro_batch": "192", "precision": precision, "framework": "MXNet + DALI, NHWC",
    }  # fmt: skip
    assert run_of(RowConfiguration(row)).training.compiled is fused


def test_a_different_kind_of_run_is_more_uncertain() -> None:
    """Each difference in device, kind of model or arithmetic adds uncertainty."""
    usual = {**GPT, "id": "usual", "dp": "8", "micro_batch": "1", "global_batch": "64", "step_time_s": "1"}
    changes: list[dict[str, str]] = [{}, {"gpu": "V100"}, {"gpu": "V100", "precision": "fp32"}]
    rows = [TableRow("", "", "", RowConfiguration({**usual, **change}), {"step_time_s": "1"}) for change in changes]
    first, *others = timed_rows(rows, "step_time").timed
    assert uncertainty_of(first, likeness(first)) == 0
    assert [uncertainty_of(each, likeness(first)) for each in others] == pytest.approx(
        [STRANGENESS, STRANGENESS * 2**0.5]
    )


def test_a_power_cap_slows_the_clock() -> None:
    """A device capped at 500 of 700 W has five sevenths of its FLOP/s, and the bandwidth given in the row."""
    row = {**GPT, "gpu": "H100-96GB HBM2e (2.4 TB/s, 500 W cap)", "dp": "8", "micro_batch": "1"}
    device = run_of(RowConfiguration(row)).machine.device
    assert device.memory_bytes_per_second == 2.4e12
    assert max(device.flops_per_second.values()) == pytest.approx(1979e12 * 5 / 7)


def test_rows_without_a_layout_are_unsuited() -> None:
    """A row with many devices must state how the model is spread over them."""
    with pytest.raises(Unsuited, match="no layout"):
        run_of(RowConfiguration({**GPT, "zero_or_fsdp": ""}))


def test_a_whole_run_is_judged_by_its_device_hours(tmp_path: Path) -> None:
    """TinyLlama's 300 billion tokens took 3,456 A100 hours; the estimate with the found layout is within 50 %."""
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
def test_batches_are_given_in_samples_or_tokens(stated: str, samples: int) -> None:
    """Four million tokens are 1,953 samples of 2,048."""
    assert batch_samples(stated, 2048) == samples


def test_flops_of_image_networks_grow_with_parameters_and_input() -> None:
    """More parameters and more pixels mean more FLOPs; MobileNets use each weight less often."""
    usual = image_network("resnet_like", 25_000_000, 224)
    assert usual.forward_flops == pytest.approx(2 * 160 * 25e6, rel=0.01)
    assert image_network("resnet_like", 25_000_000, 448).forward_flops == pytest.approx(4 * usual.forward_flops)
    assert image_network("mobilenet_like", 25_000_000, 224).forward_flops < usual.forward_flops / 2
    assert "only the number of parameters of" in usual.assumptions[0]
