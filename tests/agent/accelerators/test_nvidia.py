"""Tests of the NVIDIA probe with the stand-in library and real ctypes calls."""

import threading
from pathlib import Path

import pytest

from flyball_agent.accelerators.nvidia import NvidiaProbe
from flyball_agent.accelerators.nvml import Nvml
from flyball_agent.probes.probe import Absent, Denied, ProbeSample, Unavailable, Value
from flyball_agent.standin.cards import A100, H100, RTX_4090
from flyball_agent.standin.library import StandIn
from flyball_agent.standin.scenario import Scenario
from flyball_proto.unavailable_reading import Reason
from tests.agent.accelerators.nvidia_bench import READINGS, UUID, Bench, unavailable_reading, value
from tests.counted import calls_of
from tests.processes import wait_for


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


EXPECTED: tuple[tuple[str, str | None, Value], ...] = (
    ("gpu_utilization_ratio", None, 0.73),
    ("gpu_memory_controller_utilization_ratio", None, 0.31),
    ("gpu_memory_used_bytes", None, 5_000_000_000),
    ("gpu_memory_reserved_bytes", None, 520 * 1024**2),
    ("gpu_memory_total_bytes", None, 81559 * 1024**2),
    ("gpu_power_watts", None, 345.678),
    ("gpu_power_limit_watts", None, 700),
    ("gpu_energy_joules_total", None, 9.876),
    ("gpu_temperature_celsius", None, 66),
    ("gpu_slowdown_temperature_celsius", None, 92),
    ("gpu_temperature_margin_celsius", None, 26),
    ("gpu_memory_temperature_celsius", None, 71),
    ("gpu_sm_clock_hertz", None, 1_755_000_000),
    ("gpu_sm_clock_max_hertz", None, 1_980_000_000),
    ("gpu_memory_clock_hertz", None, 2_619_000_000),
    ("gpu_performance_state", None, 2),
    ("gpu_throttle_active", "sw_power_cap", 1),
    ("gpu_throttle_active", "sw_thermal", 1),
    ("gpu_throttle_active", "hw_thermal", 0),
    ("gpu_throttle_seconds_total", "sw_power_cap", 1.5),
    ("gpu_throttle_seconds_total", "sw_thermal", 0.00025),
    ("gpu_pcie_generation", None, 3),
    ("gpu_pcie_generation_max", None, 5),
    ("gpu_pcie_width_lanes", None, 8),
    ("gpu_pcie_width_max_lanes", None, 16),
    ("gpu_pcie_transmit_bytes_total", None, 111),
    ("gpu_pcie_receive_bytes_total", None, 222),
    ("gpu_pcie_replays_total", None, 12),
    ("gpu_nvlink_links", None, 18),
    ("gpu_nvlink_active_links", None, 17),
    ("gpu_nvlink_transmit_bytes_total", None, 3072),
    ("gpu_nvlink_receive_bytes_total", None, 4096),
    ("gpu_nvlink_errors_total", "crc_flit", 5),
    ("gpu_ecc_enabled", None, 1),
    ("gpu_ecc_corrected_errors_total", None, 6),
    ("gpu_ecc_uncorrected_errors_total", None, 7),
    ("gpu_ecc_corrected_errors_lifetime_total", None, 8),
    ("gpu_ecc_uncorrected_errors_lifetime_total", None, 9),
    ("gpu_remapped_rows", "corrected", 1),
    ("gpu_remapped_rows", "uncorrected", 2),
    ("gpu_row_remap_pending", None, 1),
    ("gpu_row_remap_failed", None, 0),
    ("gpu_recovery_action", None, 2),
    ("gpu_mig_enabled", None, 0),
    ("gpu_xid_total", None, 0),
    ("gpu_lost", None, 0),
)


def test_every_reading_arrives_in_base_units(bench: Bench) -> None:
    """The values of the second GPU are reported for this GPU, in base units."""
    bench.play(Scenario(gpus=2).set(H100).set(READINGS, gpu=1))
    sample = bench.read()
    for name, label, expected in EXPECTED:
        assert value(sample, name, 1, label) == pytest.approx(expected), (name, label)
    assert value(sample, "gpu_utilization_ratio", 0) == 0
    assert {column.metric for column in sample.columns} <= set(bench.probe.metrics)


def test_activity_counters_need_two_samples(bench: Bench) -> None:
    """The first tick has no data, with a reason; the second one has ratios of the time between."""
    bench.play(Scenario(gpus=2).set(H100).set(READINGS))
    first, second = bench.read(), bench.read()
    missing = unavailable_reading(first, "gpu_tensor_active_ratio")
    assert missing is not None
    assert missing.reason is Reason.FAILED
    assert value(first, "gpu_tensor_active_ratio") is None
    assert unavailable_reading(second, "gpu_tensor_active_ratio") is None
    ratios = [
        value(second, f"gpu_{name}_ratio") for name in ("sm_active", "tensor_active", "dram_active", "sm_occupancy")
    ]
    assert ratios == pytest.approx([0.8125, 0.405, 0.125, 0.33])


def test_activity_after_a_failed_sample_needs_two_samples_again(bench: Bench) -> None:
    """A sample that failed cannot be compared: the next tick has no data."""
    good = Scenario(gpus=2).set(H100).set(READINGS)
    bench.play(good)
    for _ in range(2):
        bench.read()
    bench.play(Scenario(gpus=2).set(H100).set(READINGS).error("nvmlGpmSampleGet", 999))
    bench.read()
    bench.play(good)
    activity = [value(bench.read(), "gpu_sm_active_ratio") for _ in range(2)]
    assert activity == [None, pytest.approx(0.8125)]


def test_unsupported_readings_have_a_reason(bench: Bench) -> None:
    """ECC and NVLink of a gaming card, and activity counters of an A100, are None with the reason, never zero."""
    bench.play(Scenario(gpus=2).set(RTX_4090, gpu=0).set(A100, gpu=1))
    bench.read()
    sample = bench.read()
    for gpu, name in ((0, "gpu_ecc_corrected_errors_total"), (0, "gpu_nvlink_links"), (1, "gpu_sm_active_ratio")):
        missing = unavailable_reading(sample, name, gpu)
        assert missing is not None, name
        assert missing.reason is Reason.UNSUPPORTED
        assert value(sample, name, gpu) is None
    assert value(sample, "gpu_fan_speed_ratio", 0) == pytest.approx(0.3)


def test_every_missing_value_has_its_reason(bench: Bench) -> None:
    """On every card each missing value has an unavailable reading with its metric and GPU."""
    bench.play(Scenario(gpus=2).set(RTX_4090, gpu=0).set(H100, gpu=1))
    for _ in range(3):
        sample = bench.read()
        for column, found in zip(sample.columns, sample.values, strict=True):
            if found is None:
                of_metric = unavailable_reading(sample, column.metric.name, int(column.labels[1]))
                of_label = unavailable_reading(sample, column.metric.name, int(column.labels[1]), column.labels[-1])
                assert of_metric or of_label, column


def test_unsupported_calls_are_retried_after_ten_minutes(bench: Bench) -> None:
    """A call that a device does not support is made once, and again after ten minutes."""
    for _ in range(5):
        bench.read()
    assert bench.nvml.calls["nvmlDeviceGetFanSpeed"].calls == 2  # once per device
    bench.play(Scenario(gpus=2).set(H100).set({"fan": 55}))
    assert value(bench.read(), "gpu_fan_speed_ratio") is None
    sample = bench.read(after=601)
    assert value(sample, "gpu_fan_speed_ratio") == pytest.approx(0.55)
    assert unavailable_reading(sample, "gpu_fan_speed_ratio") is None


def test_slow_readings_are_repeated_between_queries(bench: Bench) -> None:
    """Limits and health are read every ten seconds, one GPU at a time, and reported every second."""
    bench.read()
    before = bench.nvml.calls["nvmlDeviceGetEnforcedPowerLimit"].calls
    limits = [value(bench.read(), "gpu_power_limit_watts") for _ in range(20)]
    assert limits == [700.0] * 20
    assert bench.nvml.calls["nvmlDeviceGetEnforcedPowerLimit"].calls - before <= 6


def test_columns_and_unavailable_readings_are_the_same_objects_while_nothing_changes(bench: Bench) -> None:
    """The sampler compares them by identity."""
    bench.read()
    first, second = bench.read(), bench.read()
    assert first.columns is second.columns
    assert first.unavailable is second.unavailable
    assert first.values is not second.values


def test_a_failing_call_affects_only_its_readings(bench: Bench) -> None:
    """An unknown error of one call on one GPU has a reason, is retried at each tick, and ends when it passes."""
    bench.play(Scenario(gpus=2).set(H100).error("nvmlDeviceGetPowerUsage", 999, gpu=1))
    sample = bench.read()
    missing = unavailable_reading(sample, "gpu_power_watts", 1)
    assert missing is not None
    assert missing.reason is Reason.FAILED
    assert missing.detail == "nvmlDeviceGetPowerUsage: unknown error"
    assert (value(sample, "gpu_power_watts", 0), value(sample, "gpu_power_watts", 1)) == (70.0, None)
    bench.play(Scenario(gpus=2).set(H100))
    sample = bench.read()
    assert value(sample, "gpu_power_watts", 1) == 70.0
    assert unavailable_reading(sample, "gpu_power_watts", 1) is None


def test_a_field_unknown_to_an_old_driver_is_unsupported(bench: Bench) -> None:
    """An old driver rejects a newer field as an invalid argument; the other fields of the call are read."""
    bench.play(Scenario(gpus=2).set(H100).set(READINGS).error("field_269", 2))
    bench.read()
    sample = bench.read()
    missing = unavailable_reading(sample, "gpu_throttle_seconds_total", 0, "sw_thermal")
    assert missing is not None
    assert (missing.reason, value(sample, "gpu_throttle_seconds_total", 0, "sw_thermal")) == (Reason.UNSUPPORTED, None)
    assert value(sample, "gpu_throttle_seconds_total", 0, "sw_power_cap") == 1.5


def test_one_failing_field_recovers(bench: Bench) -> None:
    """A field with a temporary error is read again with the others."""
    bench.play(Scenario(gpus=2).set(H100).set(READINGS).error("field_82", 999))
    sample = bench.read()
    assert value(sample, "gpu_memory_temperature_celsius") is None
    assert unavailable_reading(sample, "gpu_memory_temperature_celsius") is not None
    bench.play(Scenario(gpus=2).set(H100).set(READINGS))
    sample = bench.read()
    assert value(sample, "gpu_memory_temperature_celsius") == 71
    assert unavailable_reading(sample, "gpu_memory_temperature_celsius") is None


def test_a_refused_call_is_denied(bench: Bench) -> None:
    """A call without permission is denied, with a remedy."""
    bench.play(Scenario(gpus=2).set(H100).error("nvmlDeviceGetPerformanceState", 4))
    missing = unavailable_reading(bench.read(), "gpu_performance_state")
    assert missing is not None
    assert (missing.reason, bool(missing.remedy)) == (Reason.DENIED, True)


def test_a_lost_gpu_leaves_the_others_alone_and_comes_back(bench: Bench) -> None:
    """All readings of a lost GPU are unknown with one reason, the other GPU is read, and the return is an event."""
    before = bench.read()
    bench.play(Scenario(gpus=2).set(H100).lose(1))
    lost = bench.read()
    assert lost.columns is before.columns
    assert value(lost, "gpu_lost", 1) == 1
    assert value(lost, "gpu_power_watts", 1) is None
    assert value(lost, "gpu_power_watts", 0) == 70.0
    missing = unavailable_reading(lost, "", 1)
    assert missing is not None
    assert (missing.reason, missing.detail) == (Reason.FAILED, "NVML: the GPU is lost")
    assert [gpu.uuid for gpu in bench.probe.describe()] == [UUID.format(0), UUID.format(1)]
    for _ in range(3):
        bench.read()
    bench.play(Scenario(gpus=2).set(H100))
    back = bench.read()
    assert value(back, "gpu_power_watts", 1) == 70.0
    assert unavailable_reading(back, "", 1) is None
    assert bench.event_kinds() == ["gpu_lost", "gpu_returned"]


def test_the_session_is_reopened_while_a_gpu_is_lost(bench: Bench) -> None:
    """While a GPU is lost the session is reopened at intervals, so that it can be reset; the other misses no tick."""
    bench.read()
    bench.play(Scenario(gpus=2).set(H100).lose(1))
    opened = bench.nvml.calls["nvmlInit_v2"].calls
    powers = [value(bench.read(), "gpu_power_watts", 0) for _ in range(100)]
    assert powers == [70.0] * 100
    assert bench.nvml.calls["nvmlInit_v2"].calls - opened == 2  # after 30 and after 90 seconds
    assert bench.event_kinds() == ["gpu_lost"]
    bench.play(Scenario(gpus=2).set(H100))
    assert value(bench.read(after=10), "gpu_power_watts", 1) == 70.0
    assert bench.event_kinds() == ["gpu_returned"]


def test_a_gpu_lost_before_the_start_is_reported(bench: Bench) -> None:
    """A GPU without a known UUID is identified by its index."""
    bench.play(Scenario(gpus=2).set(H100).lose(1))
    sample = bench.read()
    assert {column.labels[1] for column in sample.columns} == {"0"}
    assert [each.resource for each in sample.unavailable if not each.metric] == ["index 1"]
    bench.play(Scenario(gpus=2).set(H100))
    assert {column.labels[1] for column in bench.read(after=31).columns} == {"0", "1"}


def test_a_reloaded_driver_is_opened_again(bench: Bench) -> None:
    """While the driver is unloaded, readings are unknown with the reason; they return with the same columns."""
    before = bench.read()
    bench.play(Scenario(gpus=2).set(H100).unload_driver())
    gone = bench.read()
    assert gone.columns is before.columns
    assert value(gone, "gpu_power_watts") is None
    missing = unavailable_reading(gone, "", None)
    assert missing is not None
    assert (missing.reason, missing.detail) == (
        Reason.FAILED,
        "nvmlDeviceGetUtilizationRates: the driver is not loaded",
    )
    opened = bench.nvml.calls["nvmlInit_v2"].calls
    for _ in range(30):
        bench.read()
    assert 4 <= bench.nvml.calls["nvmlInit_v2"].calls - opened <= 6
    bench.play(Scenario(gpus=2).set(H100))
    back = bench.read(after=30)
    assert value(back, "gpu_power_watts") == 70.0
    assert unavailable_reading(back, "", None) is None
    assert bench.event_kinds() == ["driver_lost", "driver_returned"]


def test_xids_are_events_and_a_counter(bench: Bench) -> None:
    """Each XID is one event with GPU, code and time, and is counted."""
    scenario = Scenario(gpus=2).set(H100).at(5)
    bench.play(scenario)
    bench.read()
    bench.play(scenario.xid(1, 48, at=5).xid(1, 79, at=5))
    sample = bench.read()
    events = [(event.kind, event.resource, event.code, event.time_ns) for event in bench.probe.take_events()]
    assert events == [("gpu_xid", UUID.format(1), 48, 77), ("gpu_xid", UUID.format(1), 79, 77)]
    assert bench.probe.take_events() == []
    assert (value(sample, "gpu_xid_total", 0), value(bench.read(), "gpu_xid_total", 1)) == (0, 2)


def test_unsupported_xids_have_a_reason(bench: Bench) -> None:
    """If the driver refuses the registration of events, the counter is unknown with a reason."""
    bench.play(Scenario(gpus=2).set(H100).error("nvmlDeviceRegisterEvents", 3, gpu=0))
    sample = bench.read()
    assert value(sample, "gpu_xid_total", 0) is None
    assert unavailable_reading(sample, "gpu_xid_total", 0) is not None
    assert value(sample, "gpu_xid_total", 1) == 0


def test_mig_instances_have_memory_columns(bench: Bench) -> None:
    """A GPU with MIG has columns for each instance, and its inventory lists them."""
    whole = bench.read()
    split = Scenario(gpus=2).set(H100).set({"mig_enabled": 1}, gpu=1)
    split.slice(1, 0, uuid="MIG-a", profile="3g.40gb", total_bytes=40 * 2**30, used=7)
    split.slice(1, 4, uuid="MIG-b", profile="1g.10gb", total_bytes=10 * 2**30, used=8)
    bench.play(split)
    sample = bench.read(after=20)
    assert sample.columns is not whole.columns
    assert value(sample, "gpu_mig_memory_used_bytes", 1, "MIG-b") == 8
    assert value(sample, "gpu_mig_memory_total_bytes", 1, "MIG-a") == 40 * 2**30
    described = bench.probe.describe()[1]
    assert described.mig_enabled
    assert [(instance.uuid, instance.profile) for instance in described.mig_instances] == [
        ("MIG-a", "3g.40gb"),
        ("MIG-b", "1g.10gb"),
    ]


def test_processes_have_memory_and_utilisation(bench: Bench) -> None:
    """Compute and graphics processes of all GPUs are reported, with utilisation if several share a GPU."""
    scenario = Scenario(gpus=2).set(H100)
    scenario.process(0, 100, 1000, utilization=60).process(0, 101, None, utilization=5)
    scenario.process(1, 100, 3000, utilization=50).process(1, 102, 10, kind="graphics")
    bench.play(scenario)
    bench.read()
    processes = {(process.gpu[-1], process.pid): process for process in bench.probe.processes}
    assert set(processes) == {("0", 100), ("0", 101), ("1", 100), ("1", 102)}
    assert processes["0", 100].memory_used_bytes == 1000
    assert processes["0", 100].utilization_ratio == pytest.approx(0.6)
    assert not processes["0", 101].HasField("memory_used_bytes")
    assert processes["1", 102].memory_used_bytes == 10


def test_the_buffer_of_processes_grows(bench: Bench) -> None:
    """All processes are reported, even if the first buffer is too small."""
    scenario = Scenario(gpus=1).set(H100)
    for pid in range(1, 101):
        scenario.process(0, pid, pid)
    bench.play(scenario)
    bench.read()
    assert sorted(process.pid for process in bench.probe.processes) == list(range(1, 101))


def test_the_inventory_describes_the_device(bench: Bench) -> None:
    """The inventory has model, driver, capability with precisions, PCI address and limits."""
    bench.read()
    gpu = bench.probe.describe()[1]
    assert (gpu.vendor, gpu.model, gpu.index) == ("nvidia", "NVIDIA H100 80GB HBM3", 1)
    assert (gpu.driver_version, gpu.compute_capability, gpu.architecture) == ("580.95.05", "9.0", "hopper")
    assert {"fp16", "bf16", "fp8", "int8"} <= set(gpu.precisions)
    assert (gpu.pci_address, gpu.numa_node, gpu.nvlinks) == ("0000:11:00.0", 0, 18)
    assert (gpu.power_limit_watts, gpu.slowdown_temperature_celsius, gpu.shutdown_temperature_celsius) == (700, 92, 97)


def test_results_stay_available_while_a_read_hangs(bench: Bench) -> None:
    """While the driver hangs in `read`, processes stay known without amounts; after the hang everything recovers."""
    normal = Scenario(gpus=2).set(H100).process(0, 42, 1000)
    bench.play(normal)
    bench.read()
    assert [process.memory_used_bytes for process in bench.probe.processes] == [1000]
    bench.play(Scenario(gpus=2).set(H100).process(0, 42, 1000).hang("nvmlDeviceGetPowerUsage", 60, gpu=0))
    finished: list[ProbeSample] = []
    thread = threading.Thread(target=lambda: finished.append(bench.read()), daemon=True)
    thread.start()
    wait_for("the read has begun", lambda: not bench.probe.processes[0].HasField("memory_used_bytes"))
    assert len(bench.probe.describe()) == 2
    assert bench.probe.take_events() == []
    (process,) = bench.probe.processes
    assert (process.pid, process.HasField("memory_used_bytes")) == (42, False)
    assert not finished
    bench.play(normal)
    thread.join(30)  # the call hangs for a minute
    assert value(finished[0], "gpu_power_watts") == 70.0
    assert [process.memory_used_bytes for process in bench.probe.processes] == [1000]


def test_without_a_library_nvidia_is_absent(tmp_path: Path) -> None:
    """Without a driver and without an NVIDIA device on the bus the probe is absent."""
    probe = NvidiaProbe(Nvml(str(tmp_path / "none.so")), tmp_path)
    with pytest.raises(Absent, match=r"libnvidia-ml\.so\.1 was not found"):
        probe.read()


def test_a_card_without_its_driver_is_a_failure(tmp_path: Path) -> None:
    """With an NVIDIA device on the PCI bus a missing driver is a failure with a remedy."""
    device = tmp_path / "bus/pci/devices/0000:01:00.0"
    device.mkdir(parents=True)
    (device / "vendor").write_text("0x10de\n")
    (device / "class").write_text("0x030200\n")
    probe = NvidiaProbe(Nvml(str(tmp_path / "none.so")), tmp_path)
    with pytest.raises(Unavailable) as caught:
        probe.read()
    assert caught.value.reason is Reason.FAILED
    assert caught.value.detail == "the host has an NVIDIA GPU, but dlopen: libnvidia-ml.so.1 was not found"
    assert caught.value.remedy


@pytest.mark.parametrize(("code", "kind"), [(9, Absent), (4, Denied), (999, Unavailable)])
def test_a_driver_that_cannot_be_opened_has_a_reason(bench: Bench, code: int, kind: type[Unavailable]) -> None:
    """Before any GPU was found, the error of the driver is the reason of the whole probe."""
    bench.play(Scenario(gpus=2).set(H100).error("nvmlInit_v2", code))
    with pytest.raises(kind) as caught:
        bench.read()
    assert type(caught.value) is kind


def test_a_driver_that_is_loaded_later_is_found(bench: Bench) -> None:
    """An agent that started before the driver was loaded needs no restart."""
    bench.play(Scenario(gpus=2).set(H100).unload_driver())
    with pytest.raises(Absent):
        bench.read()
    bench.play(Scenario(gpus=2).set(H100))
    assert value(bench.read(after=2), "gpu_power_watts") == 70.0


def test_a_driver_without_gpus_is_absent(bench: Bench) -> None:
    """With a driver but without a GPU the probe is absent."""
    bench.play(Scenario(gpus=0))
    with pytest.raises(Absent, match="finds no GPU"):
        bench.read()


def test_a_tick_of_eight_gpus_is_cheap(tmp_path: Path) -> None:
    """Eight GPUs need so few calls that a tick takes less than a millisecond (`make bench` times it)."""
    scenario = Scenario(gpus=8).set(H100).set(READINGS)
    for gpu in range(8):
        scenario.process(gpu, 1000 + gpu, 5)
    now = 100.0
    probe = NvidiaProbe(Nvml(str(StandIn(tmp_path, scenario).library)), tmp_path, monotonic=lambda: now)
    probe.read()
    now += 0.5
    assert calls_of(probe.read) <= 14_000  # activity counters have values from here on, so it builds all columns
    now += 0.4  # the first slow query of a second time is due later
    assert calls_of(probe.read) <= 1_100
