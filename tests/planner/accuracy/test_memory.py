"""Judging predicted memory."""

from pathlib import Path

import pytest

from flyball_planner.accuracy.memory import judge_peak_memory
from flyball_planner.accuracy.memory_fitting import UNKNOWN_COPIES, UNKNOWN_SPREAD, USUAL_SHARE, fitted_without
from flyball_planner.accuracy.memory_mlp import judge_perceptrons
from flyball_planner.accuracy.memory_rows import estimate_row, meant, measured_bytes
from flyball_planner.accuracy.model_states import judge_model_states
from flyball_planner.accuracy.result import Unsuited
from flyball_planner.accuracy.tables import Configuration, Row, Tables, read_tables
from flyball_planner.memory.constants import CONSTANTS
from flyball_planner.memory.deepspeed import deepspeed_states_bytes
from flyball_planner.training import Offload, Sharding
from tests.planner.accuracy.test_rows import GPT, LITGPT

MEANING = {"mem_unit": "GB (1e9)", "mem_meaning": "peak memory"}


def row(name: str, columns: dict[str, str], shown: str) -> Row:
    """A run of one suite."""
    return Row("memory_measured.csv", name, "suite", Configuration({**MEANING, **columns}), {"mem_value": shown})


def tables(*rows: Row) -> Tables:
    """A folder with one table."""
    return Tables({"memory_measured.csv": rows})


def test_units_are_not_guessed() -> None:
    """GiB and GB differ, and an unknown unit is no figure."""
    assert measured_bytes(row("a", {}, "2")) == 2e9
    assert measured_bytes(row("a", {"mem_unit": "GiB"}, "2")) == 2 * 2**30
    with pytest.raises(Unsuited, match="unit"):
        measured_bytes(row("a", {"mem_unit": "pages"}, "2"))


def test_the_row_tells_which_memory() -> None:
    """Tensors, what is reserved for them, and what the driver shows are three figures."""
    estimate = estimate_row(Configuration(GPT), CONSTANTS)
    shown = [
        meant(Configuration({"mem_meaning": text}), estimate).middle
        for text in ("peak memory active", "peak (reserved), max over GPUs", "max of sampled nvidia-smi memory.used")
    ]
    assert shown == sorted(set(shown))


def test_constants_are_fitted_without_the_judged_suite() -> None:
    """With no other suite nothing is known of what was fitted."""
    alone = fitted_without(tables(row("a", LITGPT, "13.5")), "suite")
    assert (alone.allocator_share, alone.quantised_copies) == (USUAL_SHARE, UNKNOWN_COPIES)
    assert alone.quantised_spread == UNKNOWN_SPREAD


def test_a_run_that_failed_is_no_figure_but_must_not_fit() -> None:
    """Running out of memory is judged by the verdict alone."""
    found = judge_peak_memory(tables(row("a", LITGPT, "13.5"), row("b", {**LITGPT, "micro_batch": "64"}, "OOM")))
    fitting = next(result for result in found.results if result.metric == "fits")
    assert fitting.details["ran_out_of_memory"] == 1
    assert fitting.details["ran_out_of_memory_yet_fits"] == 0
    assert fitting.details["ran_yet_does_not_fit"] == 0
    assert [each.id for each in found.ineligible] == ["b"]


def test_five_runs_improve_a_suite_that_is_off() -> None:
    """Where all runs show a fifth more than predicted, calibration closes most of the gap."""
    rows = []
    for batch in (1, 2, 4, 8, 3, 5, 6, 7):
        columns = {**LITGPT, "micro_batch": str(batch)}
        predicted = meant(Configuration(MEANING), estimate_row(Configuration(columns), CONSTANTS)).middle
        rows.append(row(str(batch), columns, str(1.2 * predicted / 1e9)))
    told = judge_peak_memory(tables(*rows)).results
    results = {each.mode: each for each in told if (each.suite, each.metric) == ("suite", "peak_memory")}
    cold, calibrated = results["cold"].median_ape, results["calibrated"].median_ape
    assert cold is not None
    assert calibrated is not None
    assert calibrated < cold / 2


def test_published_states_agree_to_the_printed_digits(tmp_path: Path) -> None:
    """The ZeRO paper's table and DeepSpeed's estimator, each by its own formula."""
    (tmp_path / "memory_analytical.csv").write_text(
        "id,suite,params,n_gpus,dp,zero_or_fsdp,precision,optimizer,mem_value,mem_unit,notes\n"
        "a,zero-paper-table1,7500000000,64,64,ZeRO-1,fp16 mixed,Adam,31.4,GB (1e9),\n"
        "b,deepspeed-estimator,2851000000,8,8,ZeRO-2; offload none,fp16 mixed,Adam,15.93,GB (1024^3),"
        "largest layer 32M params\n"
    )
    for result in judge_model_states(read_tables(tmp_path)).results:
        assert result.details["to_the_printed_digits"] == 1


def test_deepspeed_estimators_know_two_stages() -> None:
    """Offloading leaves the largest layer, or the weights; other stages have no estimator."""
    assert deepspeed_states_bytes(1e9, 1e7, 8, Sharding.ZERO2, Offload.OPTIMIZER) == 2e9
    assert deepspeed_states_bytes(1e9, 1e7, 8, Sharding.ZERO3, Offload.PARAMETERS) == 4e7
    with pytest.raises(ValueError, match="ZeRO-2 and ZeRO-3"):
        deepspeed_states_bytes(1e9, 1e7, 8, Sharding.ZERO1)


def test_small_perceptrons_are_judged_by_distance(tmp_path: Path) -> None:
    """Below 40 MiB what counts is how many MiB a prediction is off."""
    (tmp_path / "memory_mlp_gpumemnet.csv").write_text(
        "id,input,batch,activation,dropout_layers,batchnorm_layers,layer_out_features,max_gpu_mem_MiB,precision,optimizer\n"
        "small,39,99,Softplus,0,3,39 39 39 2,1451,fp32,Adam\n"
        "large,3742,983,SELU,0,0,3742 3742 3742 3742 3742 3742 3742 3742 3742 3742 73,4505,fp32,Adam\n"
    )
    results = {result.metric: result for result in judge_perceptrons(read_tables(tmp_path)).results}
    assert results["peak_memory_below_40_mib"].details["within_4_mib"] == 1
    error = results["peak_memory_above_floor"].median_ape
    assert error is not None
    assert error < 0.15
