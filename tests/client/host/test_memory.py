"""Memory, its modules, and what the kernel reports about it."""

from pathlib import Path

import pytest

from flyball.host.hardware_parts import HostMemory
from flyball.host.memory import active_choice, firmware_table, read_memory
from flyball.host.places import HostPlaces
from flyball.host.reasons import Reasons
from flyball.host.smbios import MemoryModule, PowerSupply, memory_modules, power_supplies
from tests.client.host.machine_trees import LAPTOP, SERVER, memory_device, places_of, power_supply
from tests.client.host.test_processor import inventory_of


def read(places: HostPlaces, table: bytes | str, limit: int | None = None) -> tuple[HostMemory, Reasons]:
    """Return the memory of a tree with the reasons."""
    reasons: Reasons = {}
    return read_memory(places, inventory_of(places), limit, table, reasons), reasons


def test_the_firmware_states_kind_speed_number_and_ecc_of_modules(tmp_path: Path) -> None:
    """The speed in use counts, not the one that a module could reach. Empty slots are not modules."""
    table = memory_device() + memory_device() + memory_device(size=0) + bytes((127, 4, 0, 0, 0, 0))
    memory, _ = read(places_of(tmp_path, LAPTOP), table)
    assert (memory.kind, memory.mega_transfers_per_second, memory.modules, memory.ecc) == ("DDR5", 4800, 2, True)
    assert (memory.total_bytes, memory.available_bytes) == (32_000_000 * 1024, 20_000_000 * 1024)
    assert (memory.huge_pages, memory.swappiness) == ("madvise", 60)
    assert memory.shared_memory_bytes is None


def test_memory_controllers_replace_an_unreadable_table(tmp_path: Path) -> None:
    """Kind, number and ECC come from EDAC; the speed keeps the reason why the table cannot be read."""
    memory, reasons = read(places_of(tmp_path, SERVER), "no permission; run as root")
    assert (memory.kind, memory.modules, memory.ecc) == ("DDR5", 1, True)
    assert (memory.corrected_errors, memory.uncorrected_errors) == (4, 0)
    assert reasons["memory.mega_transfers_per_second"] == "no permission; run as root"
    assert "memory.kind" not in reasons


def test_the_limit_of_a_container_is_the_usable_memory(tmp_path: Path) -> None:
    """The smaller one of limit and memory counts."""
    memory, _ = read(places_of(tmp_path, LAPTOP), b"", limit=2**30)
    assert memory.usable_bytes == 2**30
    assert read(places_of(tmp_path / "other", LAPTOP), b"")[0].usable_bytes == 32_000_000 * 1024


@pytest.mark.parametrize(
    ("files", "left"),
    [
        ({"cgroup.controllers": "memory", "memory.max": "4294967296", "memory.current": "3221225472",
          "memory.stat": "anon 1\ninactive_file 1073741824\n"}, 2 * 2**30),
        ({"memory/memory.limit_in_bytes": "4294967296", "memory/memory.usage_in_bytes": "3221225472",
          "memory/memory.stat": "total_inactive_file 1073741824\n"}, 2 * 2**30),
        ({"cgroup.controllers": "memory", "job/memory.max": "4294967296", "job/memory.current": "3221225472",
          "job/memory.stat": "inactive_file 0\n", "job/task/memory.max": "max", "job/task/memory.current": "4096",
          "job/task/memory.stat": "inactive_file 0\n"}, 2**30),
        ({}, 4 * 2**30),
    ],
)  # fmt: skip
def test_available_memory_is_what_the_limit_of_a_container_leaves(
    tmp_path: Path, files: dict[str, str], left: int
) -> None:
    """Also the limit of a group above, as of a job in Slurm: who took more would be killed. Cached files are free."""
    group = "/job/task" if "job/memory.max" in files else "/"
    groups = {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
    tree = {**LAPTOP, "proc/self/cgroup": f"0::{group}\n", **groups}
    memory, _ = read(places_of(tmp_path, tree), b"", limit=4 * 2**30)
    assert memory.available_bytes == left


def test_a_table_that_only_root_may_read_has_this_reason(tmp_path: Path) -> None:
    """Without a table at all, the reason is that there is none."""
    places = places_of(tmp_path, {"sys/firmware/dmi/tables/DMI": "x"})
    assert firmware_table(places) == b"x"
    assert "no table" in str(firmware_table(places_of(tmp_path / "other", {})))


@pytest.mark.parametrize("cut", [1, 3, 20, 95, 100])
def test_a_damaged_table_ends_early(cut: int) -> None:
    """Modules before the damage are kept, and nothing is raised."""
    whole = memory_device() + memory_device(kind=0x1A)
    assert len(memory_modules(whole)) == 2
    found = memory_modules(whole[: len(memory_device()) + cut])
    assert found[0] == MemoryModule("DDR5", 4800, True)
    assert len(memory_modules(whole[:cut])) <= 1


def test_unknown_speeds_and_widths_are_unknown() -> None:
    """0 and 65535 mean unknown; a speed above 65,535 is in the extended field."""
    table = memory_device(kind=0x02, speed=0, used=0, total=0xFFFF)
    assert memory_modules(table) == [MemoryModule(None, None, None)]
    assert memory_modules(memory_device(used=0, total=64))[0] == MemoryModule("DDR5", 5600, False)


def test_supplies_that_are_present_have_their_rated_power() -> None:
    """A supply without a stated power is counted with unknown watts; an empty bay is not counted."""
    table = power_supply(3000) + power_supply(0x8000) + power_supply(3000, present=False) + memory_device()
    assert power_supplies(table) == [PowerSupply(3000), PowerSupply(None)]


def test_the_choice_in_brackets_is_the_active_one() -> None:
    """A kernel without the choice gives none."""
    assert active_choice("always [madvise] never") == "madvise"
    assert active_choice("") is None
