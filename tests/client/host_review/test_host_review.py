"""The review of a host: configurations that fit, and steps that follow from the findings."""

from dataclasses import replace

import pytest

from flyball.host.hardware_parts import DiskSpeed, GpuSpeed, HostBenchmarks, HostTier
from flyball.host.hardware_profile import HardwareProfile
from flyball.host_review.host_review import NOTHING, propose, review_host
from tests.client.host_review.recorded_hosts import OTHERS, PEERS, proposed, recorded


@pytest.mark.parametrize("name", [*PEERS, *OTHERS])
def test_each_host_gets_three_configurations_that_fit(name: str) -> None:
    """Memory is below that of the device, time and memory are known, and each mode is there once."""
    proposal = proposed(name)
    assert [each.name for each in proposal.configurations] == ["conservative", "balanced", "extreme"]
    assert proposal.devices is not None
    for each in proposal.configurations:
        assert each.expected.memory_bytes.middle <= proposal.devices.device.memory_bytes
        assert each.expected.seconds.middle > 0
        assert each.devices == proposal.devices.count


def test_configurations_can_be_left_out() -> None:
    """`--profile-only` needs none, and is not an error."""
    review = review_host(recorded("node"))
    assert (review.proposal, review.recommended) == (NOTHING, "")
    assert review.score.score is not None


def test_a_host_without_a_known_speed_has_a_reason() -> None:
    """An empty profile gives no configuration, with the reason."""
    proposal = propose(HardwareProfile(tier=HostTier.LOW))
    assert proposal.configurations == ()
    assert "could not be determined" in proposal.because


def test_balanced_is_recommended_unless_something_is_in_the_way() -> None:
    """On battery, with a hot GPU, or with a GPU in use, the conservative configuration comes first."""
    host, proposal = recorded("workstation"), proposed("workstation")
    assert review_host(host, None, proposal).recommended == "balanced"
    hot = replace(host.gpus[0], temperature_celsius=83.0)
    used = replace(host.gpus[0], memory_used_bytes=10 * 2**30)
    worse = (
        replace(host, power=replace(host.power, source="battery")),
        replace(host, gpus=(hot,)),
        replace(host, gpus=(used,)),
    )
    assert {review_host(each, None, proposal).recommended for each in worse} == {"conservative"}


def test_no_run_of_months_is_recommended() -> None:
    """On a small processor the shortest configuration is recommended, and the long ones are named with a way out."""
    profile, proposal = recorded("container"), proposed("container")
    review = review_host(profile, None, proposal)
    times = {each.name: each.expected.seconds.middle for each in proposal.configurations}
    assert max(times.values()) > 7 * 86400
    assert times[review.recommended] == min(times.values())
    (late,) = (each for each in review.findings if each.id == "long-runs")
    assert late.command == "flyball prices H100"


def test_the_next_steps_begin_with_what_stops_a_training() -> None:
    """Urgent findings come first, then the training, then the weakest part and what was not measured."""
    steps = review_host(recorded("container"), None, proposed("container")).next_steps
    assert steps[0].startswith("First: ")
    train = next(number for number, text in enumerate(steps) if text.startswith("Train with the "))
    assert all(text.startswith("First: ") for text in steps[:train])
    assert steps[-1].startswith("Measure ")
    assert any("Weakest part" in text for text in steps[train:])


def _measured(read_mb_per_second: float) -> HostBenchmarks:
    speed = GpuSpeed(index=0, matmul_tflops={"bf16": 130.0})
    disk = DiskSpeed(path="/", bytes=1, write_mb_per_second=1e3, read_mb_per_second=read_mb_per_second, direct=True)
    return HostBenchmarks(gpus=(speed,), disk=disk)


@pytest.mark.parametrize(("read_mb_per_second", "limit"), [(3000.0, "gpu"), (0.01, "disk")])
def test_the_bottleneck_of_a_configuration_is_what_takes_longest(read_mb_per_second: float, limit: str) -> None:
    """With a usual disk the GPU limits the configuration, with one of a few kilobytes a second the disk does."""
    profile = replace(recorded("workstation"), benchmarks=_measured(read_mb_per_second))
    first, learner = review_host(profile, None, proposed("workstation")).bottlenecks
    assert (first.workload, first.forecast.primary) == ("the balanced configuration", limit)
    assert "learner" in learner.workload


def test_nothing_is_forecast_without_a_measurement() -> None:
    """Typical rates are not enough for a forecast."""
    assert review_host(recorded("workstation"), None, proposed("workstation")).bottlenecks == ()
