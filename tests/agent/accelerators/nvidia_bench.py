"""A bench for the NVIDIA probe: the stand-in library, real ctypes calls and a manual clock."""

from pathlib import Path

from flyball_agent.accelerators.nvidia import NvidiaProbe
from flyball_agent.accelerators.nvml import Nvml
from flyball_agent.probes.probe import ProbeSample, Value
from flyball_agent.standin.cards import H100, Values
from flyball_agent.standin.library import StandIn
from flyball_agent.standin.scenario import Scenario
from flyball_proto.unavailable_reading import Reason, UnavailableReading

UUID = "GPU-00000000-0000-4000-8000-{:012d}"


class Bench:
    """A probe with a stand-in library and a manual clock."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.now = 100.0
        self.standin = StandIn(directory, Scenario(gpus=2).set(H100))
        self.nvml = Nvml(str(self.standin.library))
        self.probe = NvidiaProbe(self.nvml, directory / "sys", monotonic=lambda: self.now, wall_ns=lambda: 77)

    def play(self, scenario: Scenario) -> None:
        """Change the scenario."""
        self.standin.play(scenario)

    def read(self, *, after: float = 1.0) -> ProbeSample:
        """Read after some seconds of the manual clock."""
        self.now += after
        return self.probe.read()

    def event_kinds(self) -> list[str]:
        """Return the kinds of the events since the last call."""
        return [event.kind for event in self.probe.take_events()]


def value(sample: ProbeSample, name: str, gpu: int = 0, label: str | None = None) -> Value:
    """Return the value of a column. What a device does not support has a reason instead of a column."""
    for column, found in zip(sample.columns, sample.values, strict=True):
        matches = column.metric.name == name and column.labels[0] == UUID.format(gpu)
        if matches and (label is None or column.labels[2] == label):
            return found
    missing = unavailable_reading(sample, name, gpu) or unavailable_reading(sample, name, gpu, label or "")
    assert missing is not None, f"neither a column nor a reason: {name} of GPU {gpu}"
    assert missing.reason is Reason.UNSUPPORTED
    return None


def values(sample: ProbeSample, name: str, gpu: int = 0) -> dict[str, Value]:
    """Return the values of a metric by their third label."""
    return {
        column.labels[2]: found
        for column, found in zip(sample.columns, sample.values, strict=True)
        if column.metric.name == name and column.labels[0] == UUID.format(gpu)
    }


def unavailable_reading(
    sample: ProbeSample, metric: str, gpu: int | None = 0, label: str = ""
) -> UnavailableReading | None:
    """Return the reason of a metric, or of one of its labels, without a value."""
    resource = ("" if gpu is None else UUID.format(gpu)) + (f"/{label}" if label else "")
    found = [each for each in sample.unavailable if each.metric == metric and each.resource == resource]
    return found[0] if found else None


READINGS: Values = {
    "utilization_gpu": 73, "utilization_memory": 31, "memory_used": 5_000_000_000, "power": 345_678, "energy": 9_876,
    "temperature": 66, "temperature_margin": 26, "memory_temperature": 71, "clock_sm": 1755, "clock_memory": 2619,
    "pstate": 2, "throttle_reasons": 0x24, "throttle_sw_power_cap": 1_500_000_000, "throttle_sw_thermal": 250_000,
    "pcie_transmit": 111, "pcie_receive": 222, "nvlink_transmit_kib": 3, "nvlink_receive_kib": 4, "nvlinks_active": 17,
    "nvlink_crc_flit": 5, "ecc_corrected": 6, "ecc_uncorrected": 7, "ecc_corrected_lifetime": 8,
    "ecc_uncorrected_lifetime": 9, "remapped_corrected": 1, "remapped_uncorrected": 2, "remapped_pending": 1,
    "pcie_generation": 3, "pcie_width": 8, "pcie_replays": 12, "recovery_action": 2, "gpm_sm_active": 81.25,
    "gpm_tensor_active": 40.5, "gpm_dram_active": 12.5, "gpm_sm_occupancy": 33,
}  # fmt: skip
