"""Tests of what each chip provides: its readings, and the unavailable ones with their reason."""

from pathlib import Path

import pytest

from flyball_agent.accelerators import metrics as m
from flyball_agent.standin.chips import CHIPS, set_chip
from flyball_agent.standin.library import StandIn
from flyball_agent.standin.scenario import Scenario, known_keys
from flyball_proto.unavailable_reading import Reason
from tests.agent.accelerators.nvidia_bench import Bench, unavailable_reading, value, values

EVERY_CHIP = frozenset(
    metric.name
    for metric in (
        m.UTILIZATION, m.MEMORY_BUSY, m.MEMORY_USED, m.MEMORY_RESERVED, m.MEMORY_TOTAL, m.POWER, m.POWER_INSTANT,
        m.POWER_LIMIT, m.POWER_LIMIT_MIN, m.POWER_LIMIT_MAX, m.POWER_LIMIT_DEFAULT, m.TEMPERATURE,
        m.SLOWDOWN_TEMPERATURE, m.SHUTDOWN_TEMPERATURE, m.OPERATING_TEMPERATURE_MAX, m.SM_CLOCK, m.SM_CLOCK_MAX,
        m.MEMORY_CLOCK, m.PERFORMANCE_STATE, m.PCIE_GENERATION, m.PCIE_GENERATION_MAX, m.PCIE_WIDTH, m.PCIE_WIDTH_MAX,
        m.XIDS, m.LOST, m.THROTTLED, m.THROTTLE_SECONDS, m.ENERGY, m.ECC_ENABLED, m.ECC_CORRECTED, m.ECC_UNCORRECTED,
        m.ECC_CORRECTED_LIFETIME, m.ECC_UNCORRECTED_LIFETIME, m.PCIE_REPLAYS, m.PCIE_ERRORS, m.RECOVERY_ACTION,
        m.PCIE_TRANSMIT, m.PCIE_RECEIVE, m.ENGINE_UTILIZATION, m.PERSISTENCE, m.BAR1_USED, m.BAR1_TOTAL,
    )
)  # fmt: skip
ACTIVITY = (m.SM_ACTIVE, m.SM_OCCUPANCY, m.TENSOR_ACTIVE, m.DRAM_ACTIVE)
FABRIC = (m.FABRIC_STATE, m.FABRIC_STATUS, m.FABRIC_CLIQUE, m.FABRIC_HEALTH)
NVLINK = (m.NVLINK_LINKS, m.NVLINK_ACTIVE, m.NVLINK_TRANSMIT, m.NVLINK_RECEIVE, m.NVLINK_ERRORS)
NVLINK_5 = (m.NVLINK_FEC, m.NVLINK_BER)
C2C = (m.C2C_LINKS, m.C2C_ACTIVE, m.C2C_ERRORS)
MARGINS = (m.TEMPERATURE_MARGIN, m.LIMIT_MARGIN)
REMAPPING = (m.REMAPPED_ROWS, m.REMAP_PENDING, m.REMAP_FAILED, m.SRAM_ERRORS, m.SRAM_THRESHOLD)
RETIREMENT = (m.RETIRED_PAGES, m.RETIRED_PAGES_PENDING)
MEMORY = (m.MEMORY_TEMPERATURE, m.MEMORY_TEMPERATURE_MAX)

MORE = {
    "A100": {*NVLINK, *REMAPPING, *MEMORY, m.MIG_ENABLED},
    "H100": {*NVLINK, *ACTIVITY, *FABRIC, *MARGINS, *REMAPPING, *MEMORY, m.MIG_ENABLED, m.MEMORY_POWER},
    "B200": {
        *NVLINK, *NVLINK_5, *ACTIVITY, *FABRIC, *MARGINS, *REMAPPING, m.MEMORY_TEMPERATURE, m.MIG_ENABLED,
    },
    "GB200": {
        *NVLINK, *NVLINK_5, *C2C, *ACTIVITY, *FABRIC, *MARGINS, *REMAPPING, m.MEMORY_TEMPERATURE, m.MIG_ENABLED,
        m.MODULE_POWER,
    },
    "L40S": {*MARGINS, *REMAPPING},
    "T4": {*RETIREMENT},
}  # fmt: skip
OPTIONAL = {
    m.FAN, m.MODULE_POWER, m.MEMORY_POWER, m.MIG_ENABLED, *NVLINK, *NVLINK_5, *C2C, *ACTIVITY, *FABRIC, *MARGINS,
    *REMAPPING, *RETIREMENT, *MEMORY,
}  # fmt: skip
NVLINK_KINDS = {
    "A100": {"replay", "recovery", "crc_flit", "crc_data", "ecc_data"},
    "H100": {"replay", "recovery", "crc_flit", "crc"},
    "B200": {
        "recovery", "recovery_failed", "malformed_packet", "buffer_overrun", "receive", "receive_remote",
        "receive_general", "link_integrity", "transmit_discard", "effective", "symbol",
    },
    "L40S": set(),
    "T4": set(),
}  # fmt: skip
NVLINK_KINDS["GB200"] = NVLINK_KINDS["B200"]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.parametrize("chip", CHIPS)
def test_a_chip_has_its_readings_and_reasons_for_the_others(bench: Bench, chip: str) -> None:
    """A chip has a value for each column that it supports, and a reason for each metric that it does not support."""
    bench.play(set_chip(Scenario(gpus=1), chip))
    bench.read()
    sample = bench.read()
    expected = EVERY_CHIP | {metric.name for metric in MORE[chip]}
    assert {column.metric.name for column in sample.columns} == expected
    assert None not in sample.values
    assert {each.metric for each in sample.unavailable} == {metric.name for metric in OPTIONAL - MORE[chip]}
    assert {each.reason for each in sample.unavailable} == {Reason.UNSUPPORTED}
    assert set(values(sample, "gpu_nvlink_errors_total")) == NVLINK_KINDS[chip]


@pytest.mark.parametrize("chip", CHIPS)
def test_chips_use_only_known_keys(chip: str) -> None:
    """A misspelt key would have no effect."""
    assert set(CHIPS[chip].values) <= known_keys()


def test_power_is_instantaneous_and_of_the_module(bench: Bench) -> None:
    """A superchip has the power of the GPU, in both ways, and that of the module with its CPU."""
    bench.play(set_chip(Scenario(gpus=1), "GB200").set({"power": 900_000}).field(186, 950_000, kind="uint"))
    sample = bench.read()
    powers = [value(sample, f"gpu_{name}_watts") for name in ("power", "power_instant", "module_power")]
    assert powers == [900.0, 950.0, 400.0]
    limits = [value(sample, f"gpu_power_limit_{name}_watts") for name in ("min", "max", "default")]
    assert limits == [400.0, 1200.0, 1000.0]


def test_margins_of_limits_may_be_negative(bench: Bench) -> None:
    """T.Limit thresholds count from the highest operating temperature; hotter ones are negative."""
    bench.play(set_chip(Scenario(gpus=1), "H100"))
    margins = values(bench.read(), "gpu_limit_margin_celsius")
    assert margins == {"shutdown": -8, "slowdown": -2, "memory_operating": 0, "operating": 0}


def test_the_margin_follows_the_temperature(bench: Bench) -> None:
    """The margin is read every ten seconds; in between it falls as the temperature rises."""
    bench.play(set_chip(Scenario(gpus=1), "H100").set({"temperature": 41, "temperature_margin": 46}))
    assert value(bench.read(), "gpu_temperature_margin_celsius") == 46
    calls = bench.nvml.calls["nvmlDeviceGetMarginTemperature"]
    bench.play(set_chip(Scenario(gpus=1), "H100").set({"temperature": 61, "temperature_margin": 26}))
    assert value(bench.read(), "gpu_temperature_margin_celsius") == 26
    assert calls.calls == 1
    bench.play(set_chip(Scenario(gpus=1), "H100").set({"temperature": 61, "temperature_margin": 30}))
    margins = [value(bench.read(), "gpu_temperature_margin_celsius") for _ in range(10)]
    assert (margins[0], margins[-1], calls.calls) == (26, 30, 2)


def test_a_margin_without_a_temperature_is_read_again(bench: Bench) -> None:
    """Without the temperature the margin cannot follow it, so the driver is asked."""
    scenario = set_chip(Scenario(gpus=1), "H100").error("nvmlDeviceGetTemperatureV", 999)
    bench.play(scenario)
    assert value(bench.read(), "gpu_temperature_margin_celsius") == 55
    bench.play(scenario.set({"temperature_margin": 50}))
    assert value(bench.read(), "gpu_temperature_margin_celsius") == 50


@pytest.mark.parametrize(("number", "action"), [(0, "none"), (5, "recover_imex_domain"), (7, "system_reboot")])
def test_recovery_actions_have_names(bench: Bench, number: int, action: str) -> None:
    """Each action of the driver has its own name."""
    bench.play(set_chip(Scenario(gpus=1), "B200").set({"recovery_action": number}))
    assert m.RECOVERY_ACTION.states[int(value(bench.read(), "gpu_recovery_action") or 0)] == action


@pytest.mark.parametrize("number", [8, 9, 4_000_000_000])
def test_an_unknown_recovery_action_is_other(bench: Bench, number: int) -> None:
    """An action of a newer driver is neither "none" nor one of the known ones."""
    bench.play(set_chip(Scenario(gpus=1), "B200").set({"recovery_action": number}))
    assert m.RECOVERY_ACTION.states[int(value(bench.read(), "gpu_recovery_action") or 0)] == "other"


def test_on_chip_memory_errors_are_counted(bench: Bench) -> None:
    """Errors of the on-chip memory have kinds, and the driver's verdict is a reading."""
    status = {"sram_corrected": 5, "sram_parity": 1, "sram_sec_ded": 2, "sram_threshold": 1}
    bench.play(set_chip(Scenario(gpus=1), "H100").set(status))
    sample = bench.read()
    assert values(sample, "gpu_ecc_sram_errors_lifetime_total") == {
        "corrected": 5, "uncorrected_parity": 1, "uncorrected_sec_ded": 2,
    }  # fmt: skip
    assert value(sample, "gpu_ecc_sram_threshold_exceeded") == 1


def test_on_chip_memory_errors_may_need_a_privilege(bench: Bench) -> None:
    """Without root the driver refuses the status: it is denied, not zero."""
    bench.play(set_chip(Scenario(gpus=1), "H100").error("nvmlDeviceGetSramEccErrorStatus", 4))
    missing = unavailable_reading(bench.read(), "gpu_ecc_sram_errors_lifetime_total")
    assert missing is not None
    assert missing.reason is Reason.DENIED


def test_engines_and_window_are_read(bench: Bench) -> None:
    """The engines for video and images, the PCIe window and pending page retirement arrive in base units."""
    engines = {"engine_encoder": 1, "engine_decoder": 40, "engine_jpeg": 3, "engine_ofa": 4}
    bench.play(set_chip(Scenario(gpus=1), "T4").set({**engines, "retired_pending": 1, "bar1_used": 4096}))
    sample = bench.read()
    assert values(sample, "gpu_engine_utilization_ratio") == pytest.approx(
        {"encoder": 0.01, "decoder": 0.4, "jpeg": 0.03, "ofa": 0.04}
    )
    assert (value(sample, "gpu_retired_pages_pending"), value(sample, "gpu_bar1_used_bytes")) == (1, 4096)


def test_constants_are_read_once(bench: Bench) -> None:
    """Limits and highest clocks are read at the start and every ten minutes."""
    bench.play(set_chip(Scenario(gpus=1), "H100"))
    for _ in range(30):
        bench.read()
    calls = bench.nvml.calls["nvmlDeviceGetMaxClockInfo"]
    assert calls.calls == 1
    bench.read(after=601)
    assert calls.calls == 2


def test_a_constant_that_fails_is_tried_again(bench: Bench) -> None:
    """A temporary error of a constant ends with the next slow query."""
    bench.play(set_chip(Scenario(gpus=1), "H100").error("nvmlDeviceGetMaxClockInfo", 999))
    assert value(bench.read(), "gpu_sm_clock_max_hertz") is None
    bench.play(set_chip(Scenario(gpus=1), "H100"))
    assert value(bench.read(after=11), "gpu_sm_clock_max_hertz") == 1_980_000_000


def test_constants_return_with_a_lost_gpu(bench: Bench) -> None:
    """A GPU that responds again has all its readings at once, and the reasons of the others."""
    bench.play(set_chip(Scenario(gpus=1), "H100"))
    bench.read()
    before = bench.read()
    bench.play(set_chip(Scenario(gpus=1), "H100").lose(0))
    bench.read()
    bench.play(set_chip(Scenario(gpus=1), "H100"))
    bench.read()
    after = bench.read()
    assert value(after, "gpu_sm_clock_max_hertz") == 1_980_000_000
    assert set(after.unavailable) == set(before.unavailable)
    assert after.columns is before.columns


def test_the_energy_counter_is_read_every_ten_seconds(bench: Bench) -> None:
    """The energy field alone takes milliseconds, so it is not among the fields of each second."""
    bench.play(set_chip(Scenario(gpus=1), "H100").set({"energy": 5000}))
    bench.read()
    bench.read()
    bench.play(set_chip(Scenario(gpus=1), "H100").set({"energy": 9000}))
    energies = [value(bench.read(), "gpu_energy_joules_total") for _ in range(10)]
    assert (energies[0], energies[-1]) == (5.0, 9.0)


def test_the_inventory_has_board_and_fabric(bench: Bench) -> None:
    """The inventory has serial number, part number, firmware versions, fabric and chip-to-chip links."""
    bench.play(set_chip(Scenario(gpus=1), "GB200").set({"board_part": "692-2G520", "serial": "1650"}))
    bench.read()
    gpu = bench.probe.describe()[0]
    assert (gpu.serial, gpu.board_part_number, gpu.vbios_version) == ("1650", "692-2G520", "96.00.A0.00.01")
    assert gpu.inforom_version == "G530.0200.00.01"
    assert (gpu.fabric_cluster, gpu.fabric_clique) == ("00000000-0000-0000-0000-000000000001", 7)
    assert (gpu.c2c_links, gpu.nvlinks, gpu.architecture) == (10, 18, "blackwell")


def test_a_library_of_an_older_driver_lacks_functions(tmp_path: Path) -> None:
    """Every optional call may be missing: the readings have reasons, and the others are read."""
    bench = Bench(tmp_path)
    optional = (
        "nvmlDeviceGetGpuFabricInfoV", "nvmlDeviceGetSramEccErrorStatus", "nvmlDeviceGetNvLinkErrorCounter",
        "nvmlDeviceGetMarginTemperature", "nvmlDeviceGetJpgUtilization", "nvmlDeviceGetOfaUtilization",
    )  # fmt: skip
    scenario = set_chip(Scenario(gpus=1), "H100")
    for call in optional:
        scenario.error(call, 13)
    StandIn(tmp_path, scenario)
    bench.read()
    sample = bench.read()
    assert {each.reason for each in sample.unavailable} == {Reason.UNSUPPORTED}
    assert None not in sample.values
    assert set(values(sample, "gpu_engine_utilization_ratio")) == {"encoder", "decoder"}
    assert values(sample, "gpu_nvlink_errors_total")["replay"] == 0
