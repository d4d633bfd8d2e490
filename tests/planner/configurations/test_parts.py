"""Tests of the parts of a configuration."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_planner.catalogue.devices import devices, find_device
from flyball_planner.configurations.budget import affordable, budgets
from flyball_planner.configurations.device_tuning import tuning
from flyball_planner.configurations.ladder import ladder, size
from flyball_planner.configurations.phases import phases
from flyball_planner.configurations.processor_tuning import processor_tuning
from flyball_planner.configurations.recipe import warm_up_steps
from flyball_planner.configurations.streaming import Disk, streaming
from flyball_planner.precision import PRECISIONS


@pytest.mark.parametrize(
    ("name", "family", "precision"),
    [
        ("RTX_4090_fp16", "RTX 40", "bf16-autocast"),
        ("RTX_3060_fp16", "RTX 30", "bf16-autocast"),
        ("GeForce RTX 2080 Ti", "RTX 20", "fp16-autocast"),
        ("GTX_1660Ti_fp32", "GTX", "fp32"),
        ("H100_80GB_fp16", "data centre, Hopper and later", "bf16"),
        ("A100_40GB_fp16", "data centre, Ampere and Ada", "bf16"),
        ("V100", "Tesla and Quadro before Ampere", "fp16-autocast"),
        ("MI300X", "AMD ROCm", "bf16"),
        ("M2_Ultra", "Apple Silicon", "fp32"),
        ("TPU_v4_pod", "TPU", "bf16"),
        ("CPU_8C_3.5Ghz_baseline", "processor", "fp32"),
    ],
)
def test_every_family_has_its_settings(name: str, family: str, precision: str) -> None:
    """Each family of devices has a precision that it supports."""
    found = tuning(find_device(name))
    assert (found.family, found.precision) == (family, precision)


def test_every_device_gets_a_supported_precision() -> None:
    """Every device in the catalogue gets a precision with native arithmetic, or fp32."""
    for device in devices():
        chosen = PRECISIONS[tuning(device).precision]
        assert device.native(chosen.compute) or chosen.compute.value == "fp32", device.name


def test_the_ladder_covers_all_sizes() -> None:
    """Shapes have from 23 million to several billion parameters, in small steps and without duplicates."""
    sizes = [size(shape) for shape in ladder()]
    assert sizes == sorted(set(sizes))
    assert sizes[0] < 25e6
    assert sizes[-1] > 5e9
    assert all(later / earlier < 1.6 for earlier, later in pairwise(sizes))


@given(st.floats(1e3, 1e8), st.floats(1e9, 1e19))
def test_an_affordable_budget_uses_exactly_its_flops(seconds: float, flops_per_second: float) -> None:
    """A budget has 6·N·D FLOPs and 20 tokens per parameter; four times the time allows twice the model."""
    budget = affordable(flops_per_second, seconds)
    assert 6 * budget.parameters * budget.tokens == pytest.approx(budget.flops)
    assert budget.tokens == pytest.approx(20 * budget.parameters)
    assert affordable(flops_per_second, 4 * seconds).parameters == pytest.approx(2 * budget.parameters)


def test_the_budget_matches_the_speed() -> None:
    """If 10⁸ parameters with 20 tokens each take a day, the budget of a day is 10⁸ parameters."""
    day = budgets(1e8, 20e8 / 86400)[0]
    assert day.parameters == pytest.approx(1e8)
    assert day.tokens == pytest.approx(20e8)


@given(st.floats(1e6, 1e13), st.integers(10, 22), st.integers(7, 15))
def test_two_phases_share_the_tokens(tokens: float, batch_power: int, sequence_power: int) -> None:
    """The second phase has a tenth of the tokens, longer sequences and a learning rate that ends at 0."""
    sequence = 2**sequence_power
    first, second = phases(tokens, 2.0**batch_power, sequence, 8 * sequence, 6e-4)
    assert first.tokens + second.tokens == pytest.approx(tokens)
    assert second.tokens == pytest.approx(tokens / 10)
    assert first.sequence <= sequence < second.sequence
    assert (first.learning_rate_end, second.learning_rate_start, second.learning_rate_end) == (6e-4, 6e-4, 0.0)


@pytest.mark.parametrize(
    ("steps", "tokens_per_step", "wanted"),
    [(5_000, 0.5e6, 50), (600_000, 0.5e6, 2_000), (929_833, 17e6, 2_000), (1_000_000, 0.1e6, 3_750), (1, 1e6, 1)],
)
def test_a_warm_up_has_enough_steps(steps: int, tokens_per_step: float, wanted: int) -> None:
    """Large batches warm up for 2,000 steps, small ones for as many tokens as GPT-3, short runs for a hundredth."""
    assert warm_up_steps(steps, tokens_per_step) == wanted


def test_slow_disks_get_larger_caches_and_shards() -> None:
    """A note states if a disk is too slow for the run."""
    fast, slow = (streaming(5e6, disk, 64 * 2.0**30, 16) for disk in (Disk.NVME, Disk.HDD))
    assert slow.cache_bytes > fast.cache_bytes
    assert slow.shard_bytes > fast.shard_bytes
    assert slow.prefetch > fast.prefetch
    assert fast.held_share == pytest.approx(5e6 * 2 * 2 / 3.5e9)
    assert any("too slow for the run" in note for note in streaming(1e8, Disk.HDD, 2.0**36, 16).notes)
    assert streaming(5e6, Disk.NVME, 2.0**36, cores=4).workers == 3


@given(st.integers(1, 512), st.integers(1, 16))
def test_threads_of_all_processes_fit_the_cores(cores: int, nodes: int) -> None:
    """No core is used twice, and each NUMA node has one process."""
    found = processor_tuning(cores, numa_nodes=nodes)
    assert found.processes * found.threads <= cores
    assert found.processes == min(nodes, cores)
    assert dict(found.environment)["OMP_NUM_THREADS"] == str(found.threads)
    assert ("torchrun" in found.command) == (found.processes > 1)
