"""Tests of the access to NVML."""

from pathlib import Path

import pytest

from flyball_agent.accelerators.nvml import FUNCTION_NOT_FOUND, Nvml, NvmlError, explain
from flyball_agent.standin.cards import H100
from flyball_agent.standin.library import StandIn
from flyball_agent.standin.scenario import Scenario
from flyball_proto.unavailable_reading import Reason


@pytest.mark.parametrize(
    ("code", "reason", "lasting"),
    [
        (3, Reason.UNSUPPORTED, True),
        (13, Reason.UNSUPPORTED, True),
        (4, Reason.DENIED, True),
        (17, Reason.DENIED, True),
        (9, Reason.ABSENT, False),
        (12, Reason.ABSENT, False),
        (15, Reason.FAILED, False),
        (999, Reason.FAILED, False),
        (123456, Reason.FAILED, False),
    ],
)
def test_codes_have_a_reason(code: int, reason: Reason, lasting: bool) -> None:
    """Each error code has a reason; only unsupported and denied calls are not retried at once."""
    fault = explain("nvmlSomething", code)
    assert (fault.reason, fault.lasting) == (reason, lasting)
    assert fault.detail.startswith("nvmlSomething: ")


def test_calls_are_counted_and_timed(tmp_path: Path) -> None:
    """The time of a call that takes 30 ms is recorded."""
    scenario = Scenario().set(H100).hang("nvmlDeviceGetCount_v2", 0.03)
    nvml = Nvml(str(StandIn(tmp_path, scenario).library))
    nvml.open()
    assert nvml.number("nvmlDeviceGetCount_v2") == 1
    call = nvml.calls["nvmlDeviceGetCount_v2"]
    assert call.calls == 1
    assert 30_000_000 <= call.total_ns == call.longest_ns


def test_a_function_of_a_newer_driver_is_unsupported(tmp_path: Path) -> None:
    """A function that the library does not have behaves like an unsupported call and raises no ctypes error."""
    nvml = Nvml(str(StandIn(tmp_path, Scenario().set(H100)).library))
    nvml.open()
    assert not nvml.has("nvmlDeviceGetTomorrow")
    assert nvml.call("nvmlDeviceGetTomorrow")() == FUNCTION_NOT_FOUND


def test_a_missing_library_is_an_nvml_error(tmp_path: Path) -> None:
    """A path without a library raises NvmlError."""
    with pytest.raises(NvmlError, match=r"libnvidia-ml\.so\.1 was not found"):
        Nvml(str(tmp_path / "none")).open()


def test_the_library_can_be_opened_again(tmp_path: Path) -> None:
    """After close, calls fail as uninitialised until the library is opened again."""
    nvml = Nvml(str(StandIn(tmp_path, Scenario().set(H100)).library))
    nvml.open()
    nvml.close()
    with pytest.raises(NvmlError, match="the driver was unloaded"):
        nvml.number("nvmlDeviceGetCount_v2")
    nvml.open()
    assert nvml.number("nvmlDeviceGetCount_v2") == 1


def test_a_broken_library_is_not_a_missing_one(tmp_path: Path) -> None:
    """A file that is not a library is a failure with a remedy, not absent hardware."""
    (tmp_path / "broken.so").write_bytes(b"not a library")
    with pytest.raises(NvmlError, match="cannot be loaded") as caught:
        Nvml(str(tmp_path / "broken.so")).open()
    fault = explain(caught.value.call, caught.value.code)
    assert (fault.reason, bool(fault.remedy)) == (Reason.FAILED, True)
