"""Texts of conditions at any time and with any reading missing: no placeholder for an unknown value is shown."""

import re
from collections.abc import Iterator, Mapping

import pytest

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.kinds import KINDS
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.engine.engine import build_detectors
from flyball_collector.engine.settings import DiagnosisSettings
from flyball_collector.engine.testing.hosts import SimulatedFleet
from flyball_proto.v1 import telemetry_pb2 as pb

PLACEHOLDER = re.compile(r"\b(nan|None|unknown|inf)\b")
GIB = 2.0**30

Labels = tuple[tuple[str, str], ...]
Key = tuple[str, Labels]

# What a host reports in bad and in good seconds. Counters are given as rates.
HOST: Mapping[Key, tuple[float, float]] = {
    ("cpu_busy_ratio", ()): (0.97, 0.2),
    ("cpu_threads_online", ()): (16, 16),
    ("tasks_runnable", ()): (40, 2),
    ("tasks_blocked", ()): (6, 0),
    ("memory_total_bytes", ()): (64 * GIB, 64 * GIB),
    ("memory_available_bytes", ()): (2 * GIB, 40 * GIB),
    ("swap_in_bytes_total", ()): (4e7, 0),
    ("swap_out_bytes_total", ()): (4e7, 0),
    ("memory_major_faults_total", ()): (900, 1),
    ("reclaim_direct_pages_total", ()): (900, 0),
    ("tcp_sent_segments_total", ()): (900, 900),
    ("tcp_retransmitted_segments_total", ()): (90, 0),
    ("cgroup_cpu_throttled_periods_total", ()): (8, 0),
    ("cgroup_cpu_periods_total", ()): (10, 10),
    ("oom_kills_total", ()): (0.2, 0),
    ("agent_records_lost_total", ()): (3, 0),
    ("agent_records_refused_total", ()): (3, 0),
    ("agent_spool_degraded", ()): (1, 0),
    ("latency_seconds", (("target", "data:9000"),)): (0.04, 0.001),
    ("network_speed_bytes_per_second", (("interface", "eth0"),)): (1.25e9, 1.25e9),
    ("network_received_bytes_total", (("interface", "eth0"),)): (1.2e9, 1e6),
    ("network_sent_bytes_total", (("interface", "eth0"),)): (1e6, 1e6),
    ("network_received_packets_total", (("interface", "eth0"),)): (9e4, 900),
    ("network_received_errors_total", (("interface", "eth0"),)): (900, 0),
    ("network_received_dropped_total", (("interface", "eth0"),)): (900, 0),
    ("infiniband_rate_bytes_per_second", (("device", "mlx5_0"), ("port", "1"))): (25e9, 25e9),
    ("infiniband_received_bytes_total", (("device", "mlx5_0"), ("port", "1"))): (24e9, 1e6),
    ("infiniband_sent_bytes_total", (("device", "mlx5_0"), ("port", "1"))): (24e9, 1e6),
    ("infiniband_state", (("device", "mlx5_0"), ("port", "1"))): (1, 4),
    ("infiniband_link_downs_total", (("device", "mlx5_0"), ("port", "1"))): (1, 0),
    ("filesystem_used_ratio", (("mount", "/data"),)): (0.99, 0.4),
    ("filesystem_inodes", (("mount", "/data"),)): (1e6, 1e6),
    ("filesystem_inodes_free", (("mount", "/data"),)): (1e4, 9e5),
    ("filesystem_total_bytes", (("mount", "/data"),)): (1e12, 1e12),
    ("filesystem_read_only", (("mount", "/data"),)): (0, 1),
    ("numa_local_pages_total", (("node", "0"),)): (3e3, 9e3),
    ("numa_remote_pages_total", (("node", "0"),)): (9e3, 10),
    **{(f"disk_{name}_total", (("device", "nvme0n1"),)): values for name, values in {
        "read_bytes": (4e8, 0), "written_bytes": (4e8, 1e5), "busy_seconds": (0.99, 0.01), "reads": (4e3, 1),
        "writes": (4e3, 3), "read_seconds": (9, 0.001), "write_seconds": (9, 0.003), "queue_seconds": (18, 0.01),
    }.items()},
    **{("pressure_seconds_total", (("resource", resource), ("extent", extent))): (0.7, 0.0) for resource, extent in (
        ("cpu", "some"), ("io", "some"), ("io", "full"), ("memory", "some"), ("memory", "full"))},
    **{("cpu_core_busy_seconds_total", (("core", str(core)),)): (0.99 if core == 0 else 0.2, 0.1) for core in range(4)},
}  # fmt: skip
GPU: Mapping[Key, tuple[float, float]] = {
    ("gpu_utilization_ratio", ()): (0.45, 0.97),
    ("gpu_sm_active_ratio", ()): (0.2, 0.7),
    ("gpu_tensor_active_ratio", ()): (0.0, 0.4),
    ("gpu_dram_active_ratio", ()): (0.9, 0.3),
    ("gpu_memory_controller_utilization_ratio", ()): (0.9, 0.3),
    ("gpu_power_watts", ()): (690, 300),
    ("gpu_power_limit_watts", ()): (700, 700),
    ("gpu_memory_total_bytes", ()): (80 * GIB, 80 * GIB),
    ("gpu_pcie_generation", ()): (1, 5),
    ("gpu_pcie_generation_max", ()): (5, 5),
    ("gpu_pcie_width_lanes", ()): (4, 16),
    ("gpu_pcie_width_max_lanes", ()): (16, 16),
    ("gpu_pcie_receive_bytes_total", ()): (9e8, 1e8),
    ("gpu_pcie_transmit_bytes_total", ()): (9e8, 1e8),
    ("gpu_sm_clock_hertz", ()): (1.1e9, 1.9e9),
    ("gpu_sm_clock_max_hertz", ()): (1.98e9, 1.98e9),
    ("gpu_performance_state", ()): (0, 0),
    ("gpu_slowdown_temperature_celsius", ()): (90, 90),
    ("gpu_memory_temperature_celsius", ()): (94, 60),
    ("gpu_row_remap_pending", ()): (1, 0),
    ("gpu_row_remap_failed", ()): (1, 0),
    ("gpu_remapped_rows", (("cause", "uncorrected"),)): (2, 0),
    ("gpu_remapped_rows", (("cause", "corrected"),)): (2, 0),
    ("gpu_nvlink_links", ()): (18, 18),
    ("gpu_nvlink_active_links", ()): (12, 18),
    ("gpu_nvlink_errors_total", (("kind", "replay"),)): (90, 0),
    ("gpu_nvlink_errors_total", (("kind", "recovery"),)): (9, 0),
    ("gpu_ecc_uncorrected_errors_total", ()): (1, 0),
    ("gpu_ecc_uncorrected_errors_lifetime_total", ()): (1, 0),
    ("gpu_ecc_corrected_errors_total", ()): (9, 0),
    ("gpu_energy_joules_total", ()): (600, 300),
    ("gpu_lost", ()): (0, 1),
    ("gpu_throttle_active", (("reason", "hw_thermal_slowdown"),)): (1, 0),
    ("gpu_throttle_active", (("reason", "sw_thermal_slowdown"),)): (1, 0),
    ("gpu_throttle_active", (("reason", "hw_power_brake_slowdown"),)): (1, 0),
    ("gpu_throttle_active", (("reason", "sw_power_cap"),)): (1, 0),
    ("gpu_throttle_seconds_total", (("reason", "hw_power_brake_slowdown"),)): (0.9, 0),
}
GROWING = {"memory_used_ratio", "gpu_memory_used_bytes", "gpu_temperature_celsius", "gpu_temperature_margin_celsius"}
BAD_SECONDS, GOOD_SECONDS = 45, 8


class Incomplete:
    """Hosts that report everything, each without one of the readings; all in one run that reports its steps."""

    def __init__(self) -> None:
        self.simulated = SimulatedFleet(*build_detectors(DiagnosisSettings()))
        keys = (*HOST, *GPU)
        self.hosts = {"all": "", **{f"without {name} {labels}": name for name, labels in keys}}
        self.hosts |= {f"without {name}": name for name in sorted(GROWING)} | {
            f"without {part}": part for part in STEPS
        }
        self._totals: dict[tuple[str, Key], float] = {}

    def step(self, second: int, *, bad: bool) -> None:
        """Let one second pass."""
        for number, (host, missing) in enumerate(self.hosts.items()):
            for (name, labels), values in (*HOST.items(), *GPU.items()):
                if f"without {name} {labels}" != host:
                    self._set(host, name, labels, values[0 if bad else 1], (name, labels) in GPU)
            self._set_growing(host, missing, second if bad else 0)
            self._report(host, number, missing, second, bad=bad)
        self.simulated.step()

    def _set(self, host: str, name: str, labels: Labels, value: float, of_gpu: bool) -> None:
        key = (host, (name, labels))
        if name.endswith("_total"):
            value = self._totals[key] = self._totals.get(key, 1000.0) + value
        self.simulated.set(name, value, host=host, gpu="GPU-0" if of_gpu else "", **dict(labels))

    def _set_growing(self, host: str, missing: str, second: int) -> None:
        values = {
            "memory_used_ratio": (0.5 + second / 100, ""),
            "gpu_memory_used_bytes": (80 * GIB * (0.5 + second / 100), "GPU-0"),
            "gpu_temperature_celsius": (60.0 + 0.7 * second, "GPU-0"),
            "gpu_temperature_margin_celsius": (30.0 - 0.7 * second, "GPU-0"),
        }
        for name, (value, gpu) in values.items():
            if name != missing:
                self.simulated.set(name, value, host=host, gpu=gpu)

    def _report(self, host: str, rank: int, missing: str, second: int, *, bad: bool) -> None:
        slow = 2.0 if bad and rank == 3 and second > 20 else 0.0
        wait = 0.6 if bad else 0.02
        sections = {"rpc": 0.2, "all_reduce": 0.2, "checkpoint": 0.1, "synchronize": 0.1, "forward": 0.3}
        report = pb.StepReport(
            run="r",
            rank=rank,
            world_size=len(self.hosts),
            step=second,
            steps=1,
            step_seconds=1.0 + slow,
            data_wait_seconds=wait,
            section_seconds=sections,
            tokens=1000.0 + 900.0 * (rank % 2),
            loss=1.0 if second % 7 else float("nan"),
            allocated_peak_bytes=int(60 * GIB),
            reserved_peak_bytes=int(70 * GIB),
        )
        if missing in STEPS:
            report.ClearField(missing)  # type: ignore[arg-type]  # one of the names below
        if missing != "step_seconds":
            self.simulated.report(report, host=host)

    def texts(self) -> Iterator[tuple[str, Subject, str, Claims, int]]:
        """Yield kind, subject and text of every finding of this second whose values are known."""
        for kind in KINDS:
            claims = self.simulated.diagnosis.conditions.latest(kind.name)
            for place, subject in enumerate(claims.subjects.names if claims is not None else ()):
                if claims is not None and (claims.known is None or claims.known[place]):
                    yield kind.name, subject, _text(claims, place), claims, place


def _text(claims: Claims, place: int) -> str:
    try:
        return claims.because(place)
    except Exception as error:  # noqa: BLE001  all of them are listed together
        return f"None: {error!r}"


STEPS = (
    "data_wait_seconds", "section_seconds", "tokens", "loss", "allocated_peak_bytes", "step_seconds"
)  # fmt: skip


@pytest.fixture(scope="module")
def found() -> tuple[Incomplete, list[tuple[str, Subject, str, Claims, int]]]:
    """Return the fleet after bad and good seconds, and the texts of some of them."""
    fleet, texts = Incomplete(), list[tuple[str, Subject, str, Claims, int]]()
    for second in range(1, BAD_SECONDS + GOOD_SECONDS + 1):
        fleet.step(second, bad=second <= BAD_SECONDS)
        if second in {12, 30, BAD_SECONDS} or second > BAD_SECONDS + GOOD_SECONDS - 3:
            texts += fleet.texts()
    return fleet, texts


def test_no_text_has_a_placeholder_for_a_missing_value(
    found: tuple[Incomplete, list[tuple[str, Subject, str, Claims, int]]],
) -> None:
    """A sentence whose number is not known is worded without it, whichever reading a host does not report."""
    wrong = {f"{kind} on {subject.host}: {text}" for kind, subject, text, _, _ in found[1] if PLACEHOLDER.search(text)}
    brief = {re.sub(r"\d+(\.\d+)?", "#", re.sub(r" on .*?: ", ": ", each, count=1)) for each in wrong}
    assert not wrong, f"{len(wrong)}\n" + "\n".join(sorted(brief)[:80])


def test_a_text_stays_what_it_was_when_later_seconds_are_evaluated() -> None:
    """Texts are made when someone reads them: hosts that come and go meanwhile must not change or break them."""
    fleet = Incomplete()
    for second in range(1, 13):
        fleet.step(second, bad=True)
    before = list(fleet.texts())
    fleet.hosts = {"a first one": "", **dict(list(fleet.hosts.items())[::3])}
    fleet.step(13, bad=False)
    moved = {
        f"{kind}: {text} → {_text(claims, place)}"
        for kind, _, text, claims, place in before
        if re.sub(r"\d", "", _text(claims, place)) != re.sub(r"\d", "", text)
    }
    assert not moved, "\n".join(sorted(moved)[:20])
