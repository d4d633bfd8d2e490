"""Tests of the registration of a GPU in the NVLink fabric."""

from pathlib import Path

import pytest

from flyball_agent.accelerators import metrics as m
from flyball_agent.standin.chips import set_chip
from flyball_agent.standin.scenario import Scenario
from flyball_proto.unavailable_reading import Reason
from tests.agent.accelerators.nvidia_bench import Bench, unavailable_reading, value


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def state_of(bench: Bench, **fabric: int) -> tuple[str, str]:
    """Return the names of state and health."""
    bench.play(set_chip(Scenario(gpus=1), "GB200").set({f"fabric_{key}": number for key, number in fabric.items()}))
    sample = bench.read(after=11)
    state, health = (int(value(sample, f"gpu_fabric_{name}") or 0) for name in ("state", "health"))
    return m.FABRIC_STATE.states[state], m.FABRIC_HEALTH.states[health]


def test_a_registered_gpu_has_state_and_clique(bench: Bench) -> None:
    """After the registration state, result, clique and health are known."""
    assert state_of(bench) == ("completed", "healthy")
    sample = bench.read()
    assert (value(sample, "gpu_fabric_status"), value(sample, "gpu_fabric_clique")) == (0, 7)


@pytest.mark.parametrize(("number", "name"), [(1, "not_started"), (2, "in_progress")])
def test_an_unfinished_registration_has_no_result(bench: Bench, number: int, name: str) -> None:
    """Result and clique are unknown until the registration is complete."""
    assert state_of(bench, state=number)[0] == name
    sample = bench.read()
    for metric in ("gpu_fabric_status", "gpu_fabric_clique"):
        assert value(sample, metric) is None
        missing = unavailable_reading(sample, metric)
        assert missing is not None
        assert missing.reason is Reason.FAILED


def test_a_failed_registration_has_its_code(bench: Bench) -> None:
    """A registration that ended with an error has the code and no clique."""
    assert state_of(bench, status=999)[0] == "completed"
    sample = bench.read()
    assert (value(sample, "gpu_fabric_status"), value(sample, "gpu_fabric_clique")) == (999, None)


@pytest.mark.parametrize(("number", "name"), [(2, "unhealthy"), (3, "limited_capacity"), (9, "other")])
def test_health_has_a_name(bench: Bench, number: int, name: str) -> None:
    """Health is a state; one that this version does not know is `other`."""
    assert state_of(bench, health=number)[1] == name


def test_a_state_of_zero_means_no_fabric(bench: Bench) -> None:
    """A GPU without a fabric has a reason instead of a state."""
    bench.play(set_chip(Scenario(gpus=1), "GB200").set({"fabric_state": 0}))
    missing = unavailable_reading(bench.read(), "gpu_fabric_state")
    assert missing is not None
    assert missing.reason is Reason.UNSUPPORTED


@pytest.mark.parametrize(
    ("mask", "name"),
    [
        (0x0, "not_supported"),
        (2 | 2 << 2 | 2 << 4 | 2 << 6 | 1 << 8, "healthy"),
        (1 | 2 << 2 | 2 << 4 | 2 << 6 | 1 << 8, "unhealthy"),  # degraded bandwidth
        (2 | 2 << 2 | 2 << 4 | 2 << 6 | 5 << 8, "unhealthy"),  # too few NVLinks
    ],
)
def test_an_older_driver_has_only_conditions(bench: Bench, mask: int, name: str) -> None:
    """The second version of the structure has no summary: each condition counts."""
    assert state_of(bench, old_driver=1, health_mask=mask) == ("completed", name)
