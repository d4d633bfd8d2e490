"""The score of a host: it follows known machines, and more of anything never lowers it."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flyball.host.hardware_parts import (
    DiskSpeed,
    GpuSpeed,
    HostBenchmarks,
    HostDisk,
    HostMemory,
    HostNetwork,
    HostProcessor,
    HostTier,
    MemorySpeed,
    ProcessorSpeed,
)
from flyball.host.hardware_profile import HardwareProfile
from flyball.host_review.host_devices import clock_is_assumed, devices_of
from flyball.host_review.host_score import WEIGHTS, score_host, word_for
from flyball.host_review.peer_hosts import PEERS
from flyball.host_review.score_figures import ASSUMED
from tests.client.host_review.recorded_hosts import PEERS as NAMES
from tests.client.host_review.recorded_hosts import recorded

LISTED = ("laptop", "mac", *NAMES[1:])
Change = Callable[[HardwareProfile, float], HardwareProfile]


def _score(profile: HardwareProfile) -> float:
    score = score_host(profile).score
    assert score is not None
    return score


def test_the_scores_of_known_machines_are_those_of_the_list() -> None:
    """The list that reports compare with is what the recorded profiles score, in rising order."""
    scores = [_score(recorded(name)) for name in LISTED]
    assert scores == pytest.approx([each.score for each in PEERS], abs=0.05)
    assert scores == sorted(scores)
    assert min(after - before for before, after in pairwise(scores)) > 1


def test_no_part_of_the_node_scores_below_the_laptops() -> None:
    """The order holds for each part, not only for the sum."""
    laptop, node = score_host(recorded("laptop")), score_host(recorded("node"))
    for mine, theirs in zip(laptop.parts, node.parts, strict=True):
        assert (mine.score or 0.0) <= (theirs.score or 0.0)


def test_the_weights_are_shares() -> None:
    """The weights of the parts add up to one."""
    assert sum(WEIGHTS.values()) == pytest.approx(1)


def test_a_score_is_the_mean_of_its_known_parts() -> None:
    """The laptop's network has no known rate: it is left out with its reason, and does not count as zero."""
    score = score_host(recorded("laptop"))
    network = next(each for each in score.parts if each.name == "network")
    assert network.score is None
    assert "rate" in network.because
    known = [(each.score, each.weight) for each in score.parts if each.score is not None]
    assert score.score == pytest.approx(sum(a * b for a, b in known) / (1 - network.weight))


def test_an_empty_profile_has_no_score() -> None:
    """An empty profile has neither a score nor a word, and each part has its reason."""
    score = score_host(HardwareProfile(tier=HostTier.LOW))
    assert (score.score, score.word, score.weakest) == (None, "", None)
    assert all(each.because for each in score.parts)


def test_a_server_of_many_cores_without_a_clock_is_not_scored_by_its_cores_alone() -> None:
    """Processors of ARM state no clock: it is assumed, and the figure is marked. GPUs stay better for training.

    The facts are those of a recorded server with two Kunpeng 920 (128arm-2pa2n8cluster4co in the tests of hwloc).
    """
    processor = HostProcessor(sockets=2, physical_cores=128, logical_cpus=128, usable_cpus=128.0, simd=("NEON",))
    arm = HardwareProfile(tier=HostTier.SERVER, processor=processor, memory=HostMemory(total_bytes=502 * 2**30))
    score = score_host(arm)
    assert 5 < _score(arm) < _score(recorded("server")) - 1
    rates = [figure for part in score.parts for figure in part.figures if "arithmetic" in figure.name]
    assert [each.source for each in rates] == [ASSUMED, ASSUMED]
    assert "a clock of 2 GHz; --benchmark measures the processor" in devices_of(arm).assumptions
    known = replace(arm, processor=replace(processor, base_mhz=2600.0))
    assert _score(known) > _score(arm)
    assert not clock_is_assumed(known)
    speed = ProcessorSpeed(matmul_gflops=900.0, threads=128, python_patterns_per_second=4e5)
    assert not clock_is_assumed(replace(arm, benchmarks=HostBenchmarks(processor=speed)))


def test_words_rise_with_the_score() -> None:
    """Each word covers one range of scores."""
    words = [word_for(each) for each in (1.0, 3.0, 5.5, 7.5, 9.5)]
    assert words == ["entry level", "modest", "good", "strong", "outstanding"]


def _cores(profile: HardwareProfile, times: float) -> HardwareProfile:
    cores = round((profile.processor.physical_cores or 1) * times)
    return replace(
        profile,
        processor=replace(profile.processor, physical_cores=cores, logical_cpus=2 * cores, usable_cpus=2.0 * cores),
    )


def _clock(profile: HardwareProfile, times: float) -> HardwareProfile:
    processor = replace(profile.processor, catalogue_name=None)
    base = processor.base_mhz
    assert base is not None
    return replace(profile, processor=replace(processor, base_mhz=base * times))


def _memory(profile: HardwareProfile, times: float) -> HardwareProfile:
    return replace(
        profile, memory=replace(profile.memory, total_bytes=round((profile.memory.total_bytes or 0) * times))
    )


def _more_gpus(profile: HardwareProfile, times: float) -> HardwareProfile:
    gpus = recorded("workstation").gpus * round(times)
    return replace(profile, gpus=(*profile.gpus, *gpus))


def _disk_space(profile: HardwareProfile, times: float) -> HardwareProfile:
    return replace(profile, disks=(*profile.disks, HostDisk(device="sdx", kind="hdd", bytes=round(times * 1e12))))


def _links(profile: HardwareProfile, times: float) -> HardwareProfile:
    known = HostNetwork(device="eth0", kind="ethernet", megabits_per_second=1000.0 * times)
    return replace(profile, networks=(*profile.networks, known))


CHANGES: tuple[Change, ...] = (_cores, _clock, _memory, _more_gpus, _disk_space, _links)


@pytest.mark.parametrize("change", CHANGES, ids=lambda each: each.__name__.strip("_"))
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=12)
@given(one=st.floats(1, 64), other=st.floats(1, 64))
def test_more_of_anything_never_lowers_the_score(name: str, change: Change, one: float, other: float) -> None:
    """Cores, clock, memory, GPUs, disk space and links: the larger amount scores at least as much."""
    profile, (small, large) = recorded(name), sorted((one, other))
    assert _score(change(profile, small)) <= _score(change(profile, large)) + 1e-9


def _measured(rate: float) -> HostBenchmarks:
    """Return benchmarks of which all rates are multiples of one number."""
    return HostBenchmarks(
        disk=DiskSpeed(
            path="/data", bytes=1, write_mb_per_second=100 * rate, read_mb_per_second=200 * rate,
            random_reads_per_second=1000 * rate, direct=True,
        ),
        memory=MemorySpeed(copy_gb_per_second=8 * rate, triad_gb_per_second=9 * rate, threads=4, bytes=1),
        processor=ProcessorSpeed(matmul_gflops=50 * rate, threads=4, python_patterns_per_second=1e5),
        gpus=(GpuSpeed(index=0, matmul_tflops={"bf16": 5 * rate}, device_memory_gb_per_second=40 * rate),),
    )  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=20)
@given(one=st.floats(1, 100), other=st.floats(1, 100))
def test_a_faster_measurement_never_lowers_the_score(name: str, one: float, other: float) -> None:
    """Measured rates replace typical ones, and the faster machine scores at least as much."""
    profile, (slow, fast) = recorded(name), sorted((one, other))
    slower, faster = replace(profile, benchmarks=_measured(slow)), replace(profile, benchmarks=_measured(fast))
    assert _score(slower) <= _score(faster) + 1e-9


def test_published_measurements_score_like_the_data_sheets() -> None:
    """With the best products measured on H100 SXM (794.5 TFLOP/s of 989; ml-engineering), the node keeps its score."""
    node = recorded("node")
    speeds = tuple(GpuSpeed(index=each.index, matmul_tflops={"bf16": 794.5}) for each in node.gpus)
    assert _score(replace(node, benchmarks=HostBenchmarks(gpus=speeds))) == pytest.approx(_score(node), abs=0.1)


def test_a_slow_processor_with_a_weak_card_is_not_worse_than_without_it() -> None:
    """A small card does not replace a better processor in the score."""
    server = replace(recorded("server"), gpus=())
    weak = replace(recorded("workstation").gpus[0], catalogue_name="GeForce GTX 1650", memory_bytes=4 * 2**30)
    assert _score(replace(server, gpus=(weak,))) >= _score(server)
