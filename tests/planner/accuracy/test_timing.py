"""Tests of the judges of time: rows read, predictions made from configurations alone, and errors summed up."""

import csv
from pathlib import Path

import pytest

from flyball_planner.accuracy.result import CALIBRATED, COLD, Unsuited
from flyball_planner.accuracy.tables import Configuration, read_tables
from flyball_planner.accuracy.throughput_rows import run_of
from flyball_planner.accuracy.timing import judge_step_time
from flyball_planner.accuracy.whole_runs import judge_whole_runs
from flyball_planner.layouts.columns import Layouts
from flyball_planner.models.transformer.shape import TransformerShape
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


def test_networks_known_by_their_parameters_grow_with_them_and_their_input() -> None:
    """More parameters and more pixels are more FLOPs; small kinds use each weight less often."""
    usual = image_network("resnet_like", 25_000_000, 224)
    assert usual.forward_flops == pytest.approx(2 * 160 * 25e6, rel=0.01)
    assert image_network("resnet_like", 25_000_000, 448).forward_flops == pytest.approx(4 * usual.forward_flops)
    assert image_network("mobilenet_like", 25_000_000, 224).forward_flops < usual.forward_flops / 2
    assert "parameters alone" in usual.assumptions[0]
