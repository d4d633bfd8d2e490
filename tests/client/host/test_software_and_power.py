"""Software, supplies, temperatures and limits of a machine."""

import resource
from pathlib import Path

import pytest

from flyball.host.card_readings import MachineCards
from flyball.host.hardware_parts import HostGpu, HostPower, HostProcessor, HostTemperature
from flyball.host.limits import memory_limit, process_limits, read_limits
from flyball.host.power import parse_dcmi, read_power, total_tdp
from flyball.host.reasons import Reasons
from flyball.host.sensors import read_temperatures
from flyball.host.software import build_of, loaded_driver, opencl_platforms, read_software
from flyball_agent.probes.probe import Unavailable
from flyball_agent.probes.testing import write_tree
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.client.host.machine_trees import LAPTOP, SERVER, places_of, power_supply
from tests.client.host.test_processor import inventory_of

DCMI = """
    Instantaneous power reading:                   356 Watts
    Minimum during sampling period:                 12 Watts
    Power reading state is:                   activated
"""


def power_of(folder: Path, files: dict[str, str], table: bytes | str) -> tuple[HostPower, Reasons]:
    """Return the power of a tree with a processor of 350 W and a GPU of 700 W."""
    places = places_of(folder, files)
    reasons: Reasons = {}
    processor = HostProcessor(tdp_watts=350.0, tdp_source="rapl")
    gpus = (HostGpu(index=0, tdp_watts=700.0, tdp_source="driver"),)
    return read_power(places, inventory_of(places), table, (processor, gpus), reasons), reasons


def test_a_laptop_on_its_battery_is_recognised(tmp_path: Path) -> None:
    """The battery of the mouse does not count."""
    power, reasons = power_of(tmp_path, dict(LAPTOP), "no permission")
    assert (power.source, power.battery_percent) == ("battery", 57.0)
    assert reasons["power.supply_watts"] == "no permission"
    assert "power.source" not in reasons


def test_a_server_has_its_supplies_its_meter_and_its_tdp(tmp_path: Path) -> None:
    """The firmware states the rated power of each supply; ACPI's meter the power now."""
    power, _ = power_of(tmp_path, dict(SERVER), power_supply(2000) + power_supply(2000))
    assert (power.supply_watts, power.supplies, power.drawn_watts) == (4000.0, 2, 2345.0)
    assert (power.tdp_watts, power.tdp_is_estimate) == (1050.0, False)


def test_a_tdp_with_an_unknown_part_is_unknown(tmp_path: Path) -> None:
    """The reason names the part."""
    places = places_of(tmp_path, SERVER)
    reasons: Reasons = {}
    parts = (HostProcessor(), (HostGpu(index=0, tdp_watts=700.0), HostGpu(index=1)))
    power = read_power(places, inventory_of(places), b"", parts, reasons)
    assert power.tdp_watts is None
    assert reasons["power.tdp_watts"] == "the processor's and GPU 1's TDP is unknown"


def test_a_part_from_the_catalogue_makes_the_tdp_an_estimate() -> None:
    """A chip with a shared GPU counts once."""
    measured = HostProcessor(tdp_watts=100.0, tdp_source="rapl")
    assert total_tdp(measured, ()) == (100.0, False)
    assert total_tdp(HostProcessor(tdp_watts=100.0, tdp_source="catalogue"), ()) == (100.0, True)
    card = HostGpu(index=0, tdp_watts=300.0, tdp_source="catalogue")
    assert total_tdp(measured, (card,)) == (400.0, True)
    chip = HostGpu(index=0, tdp_watts=60.0, tdp_source="catalogue", unified_memory=True)
    assert total_tdp(HostProcessor(), (chip,)) == (60.0, True)


def test_a_reading_of_the_management_controller_is_parsed() -> None:
    """0 W means that nothing is measured, and an error message is not a reading."""
    assert parse_dcmi(DCMI) == 356.0
    assert parse_dcmi(DCMI.replace("356", "0")) is None
    assert parse_dcmi("DCMI request failed because: Invalid command") is None


def test_temperatures_have_the_limits_of_their_chips(tmp_path: Path) -> None:
    """A machine without sensors has a reason."""
    found = read_temperatures(places_of(tmp_path, LAPTOP))
    assert found == (HostTemperature(name="k10temp-hwmon0 Tctl", celsius=71.0, critical_celsius=100.0),)
    with pytest.raises(Unavailable, match="no temperature or fan sensor"):
        read_temperatures(places_of(tmp_path / "other", {}))


def test_software_of_another_machine_is_read_from_its_files(tmp_path: Path) -> None:
    """Packages of this process do not belong to it."""
    places = places_of(tmp_path, {**LAPTOP, "opt/rocm/.info/version": "6.4.1-83\n"})
    reasons: Reasons = {}
    found = read_software(places, inventory_of(places), MachineCards(cuda_version="12.8"), (), reasons)
    assert (found.operating_system, found.rocm_version, found.cuda_version) == ("Fedora Linux 41", "6.4.1-83", "12.8")
    assert found.opencl == ("libamdocl64.so",)
    assert found.packages == {}
    assert reasons["software.torch_build"] == "PyTorch is not installed in this environment"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12\nGCC version: gcc 12.2.0",
            "535.183.01",
        ),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build\n", "570.86.15"),
        ("", None),
    ],
)
def test_the_version_of_the_loaded_nvidia_driver_is_found(text: str, version: str | None) -> None:
    """The version of the compiler in the second line is not taken for it."""
    assert loaded_driver(text) == version


def test_builds_of_pytorch_are_distinguished() -> None:
    """Its file of versions lists them; the file of something else has none."""
    assert build_of("__version__ = '2.9'\ncuda: Optional[str] = '12.8'\nhip: Optional[str] = None\n") == "cuda 12.8"
    assert build_of("cuda: Optional[str] = None\nhip: Optional[str] = '6.4.1'\n") == "rocm 6.4.1"
    assert build_of("cuda: Optional[str] = None\nhip: Optional[str] = None\n") == "cpu"
    assert build_of("version = 1") is None


def test_opencl_platforms_are_the_libraries_of_their_drivers(tmp_path: Path) -> None:
    """Other files and empty ones are left out."""
    write_tree(tmp_path, {"a.icd": "libnvidia-opencl.so.1\n", "b.icd": "\n", "readme": "x"})
    assert opencl_platforms(tmp_path) == ("libnvidia-opencl.so.1",)
    assert opencl_platforms(tmp_path / "none") == ()


def test_the_smallest_memory_limit_of_all_groups_counts(tmp_path: Path) -> None:
    """A limit above the machine's memory limits nothing."""
    files = {
        **LAPTOP,
        "proc/self/cgroup": "0::/user.slice/run.scope\n",
        "sys/fs/cgroup/cgroup.controllers": "memory\n",
        "sys/fs/cgroup/user.slice/memory.max": f"{8 * 2**30}\n",
        "sys/fs/cgroup/user.slice/run.scope/memory.max": f"{16 * 2**30}\n",
    }
    places = places_of(tmp_path, files)
    assert memory_limit(places, inventory_of(places)) == 8 * 2**30
    assert memory_limit(places, pb.Inventory(memory_bytes=2**30)) is None


def test_limits_of_another_machine_are_not_those_of_this_process(tmp_path: Path) -> None:
    """Its container is read from its files; without one there is no runtime."""
    found = read_limits(places_of(tmp_path, SERVER), pb.Inventory(limits=pb.ContainerLimits(runtime="docker", pids=9)))
    assert (found.runtime, found.tasks, found.open_files) == ("docker", 9, None)


def test_limits_of_this_process_are_those_of_the_kernel() -> None:
    """Without a limit the value is None."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert process_limits()[0] == (None if soft == resource.RLIM_INFINITY else soft)
