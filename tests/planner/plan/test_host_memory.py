"""Tests of the memory that a training needs on its hosts."""

import pytest

from flyball_planner.plan.make import make_plan
from flyball_planner.plan.plan import HostMemorySection, Plan
from flyball_planner.specification.reader import read_specification

GPT = "model: gpt2-xl\ntraining: {batch_size: 64, sequence: 1024, steps: 100}\n"


def planned(hardware: str, more: str = "") -> Plan:
    """Return the plan of GPT-2 XL."""
    return make_plan(read_specification(f"{GPT}hardware: {{{hardware}}}\n{more}"))


def host(hardware: str, more: str = "") -> HostMemorySection:
    """Return the section of that plan."""
    found = planned(hardware, more).host
    assert found is not None
    return found


def part(section: HostMemorySection, name: str) -> float:
    """Return the middle of a part; 0 if the section lacks it."""
    return sum(each.amount.middle for each in section.parts if each.name == name)


def test_the_operating_system_keeps_two_to_four_gigabytes() -> None:
    """Every host keeps 2 to 4 GB for the system, and the parts add up."""
    found = host("device: A100_80GB_fp16, devices: 8")
    system = next(each.amount for each in found.parts if each.name == "operating_system")
    assert (system.low, system.high) == (2e9, 4e9)
    assert found.needed_bytes.middle == pytest.approx(sum(each.amount.middle for each in found.parts))


def test_a_small_host_is_reported() -> None:
    """A host of 8 GB cannot feed eight devices, one of 1 TB can, and an unknown one has no verdict."""
    verdicts = [
        host(f"device: A100_80GB_fp16, devices: 8{more}").verdict
        for more in (", host_memory_gb: 8", ", host_memory_gb: 1000", "")
    ]
    assert verdicts == ["does not fit", "fits", ""]
    assert any("host" in each for each in planned("device: A100_80GB_fp16, devices: 8, host_memory_gb: 8").warnings)


def test_offloaded_states_are_on_the_host() -> None:
    """ZeRO-Offload keeps two moments, the fp32 weights and gradients of 1.56 B parameters: 16 bytes each."""
    plain = host("device: A100_80GB_fp16", "layout: {micro_batch: 1}\n")
    moved = host("device: A100_80GB_fp16", "layout: {micro_batch: 1, offload: optimizer}\n")
    assert part(plain, "offloaded_states") == 0
    assert part(moved, "offloaded_states") == pytest.approx(16 * 1_557_611_200)
    activations = host("device: A100_80GB_fp16", "layout: {micro_batch: 4, offload: activations}\n")
    assert part(activations, "offloaded_states") > 1e9


def test_loading_workers_need_memory_of_the_host() -> None:
    """Sixteen workers need more than none, and nothing is claimed about a loader that is not described."""
    few = host("device: A100_80GB_fp16", "loading: {workers: 0, cpu_ms_per_sample: 1}\n")
    many = host("device: A100_80GB_fp16", "loading: {workers: 16, cpu_ms_per_sample: 1}\n")
    assert part(many, "loading_workers") > part(few, "loading_workers") == 0
    names = {each.name for each in host("device: A100_80GB_fp16").parts}
    assert not names & {"loading_workers", "loaded_samples"}


def test_a_processor_trains_in_the_hosts_memory() -> None:
    """On a CPU the training itself is a part of the host's memory, and its capacity is the device's."""
    found = make_plan(
        read_specification("model: {name: mlp, d_in: 99, d_out: 2, n: 1000}\nhardware: CPU_8C_3.5Ghz_baseline\n")
    ).host
    assert found is not None
    assert part(found, "training") > 0
    assert found.verdict == "fits"


def test_a_sharded_checkpoint_is_never_gathered_by_one_host() -> None:
    """With model parallelism each host writes its share; with data parallelism alone one host may gather all states."""
    copies = {}
    for name, layout in (("sharded", "pipeline: 4"), ("complete", "sharding: zero3")):
        found = host("device: A100_80GB_fp16, devices: 32", f"layout: {{{layout}, micro_batch: 1}}\n")
        copies[name] = next(each.amount for each in found.parts if each.name == "checkpoint_copy")
    assert copies["sharded"].high == pytest.approx(2 * copies["sharded"].middle)
    assert copies["complete"].high == pytest.approx(4 * copies["complete"].middle)


def test_frozen_weights_have_no_states_on_the_host() -> None:
    """LoRA's checkpoint and offloaded states are those of the additions, not of 1.56 B parameters."""
    lora = GPT.replace("steps: 100", "steps: 100, method: lora")
    text = f"{lora}hardware: {{device: A100_80GB_fp16}}\nlayout: {{micro_batch: 1, offload: optimizer}}\n"
    found = make_plan(read_specification(text)).host
    assert found is not None
    assert 0 < part(found, "offloaded_states") < 16 * 1e7
    assert 0 < part(found, "checkpoint_copy") < 14 * 1e7


def test_a_slice_of_tpus_has_many_hosts() -> None:
    """A host has the processes of its four chips, not those of the whole slice."""
    small, large = host("device: TPU v4, devices: 4"), host("device: TPU v4, devices: 64")
    assert part(small, "training_processes") == part(large, "training_processes") > 0
    assert part(large, "checkpoint_copy") == pytest.approx(part(small, "checkpoint_copy") / 16)
