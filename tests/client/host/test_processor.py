"""The processor of other machines, read from their files."""

from dataclasses import replace
from pathlib import Path

import pytest

from flyball.host.hardware_parts import HostProcessor
from flyball.host.places import HostPlaces
from flyball.host.processor import REASONS, cache_bytes, plain_model, read_processor, simd_families, usable_cpus
from flyball.host.reasons import Reasons
from flyball_agent.inventory.host_inventory import read_inventory
from flyball_agent.settings import AgentSettings
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.client.host.machine_trees import LAPTOP, SERVER, places_of


def inventory_of(places: HostPlaces) -> pb.Inventory:
    """Return the agent's inventory of a tree."""
    return read_inventory(AgentSettings(root=str(places.root), proc_root=str(places.proc), sys_root=str(places.sys)))


def read(places: HostPlaces) -> tuple[HostProcessor, Reasons]:
    """Return the processor of a tree with the reasons."""
    reasons: Reasons = {}
    return read_processor(places, inventory_of(places), reasons), reasons


def test_a_laptops_processor_has_cores_clock_instructions_and_governor(tmp_path: Path) -> None:
    """Two threads of one core are one core, and the third-level cache is the last one."""
    processor, reasons = read(places_of(tmp_path, LAPTOP))
    assert (processor.physical_cores, processor.logical_cpus, processor.sockets) == (1, 2, 1)
    assert (processor.max_mhz, processor.governor) == (5132.0, "powersave")
    assert processor.simd == ("AVX2", "AVX-512")
    assert processor.last_level_cache_bytes == 16 * 2**20
    assert reasons["processor.tdp_watts"] == REASONS["tdp_watts"]


def test_the_power_limit_of_rapl_is_the_tdp_of_all_sockets(tmp_path: Path) -> None:
    """A limit that means "no limit" is replaced by the processor's own; memory domains do not count."""
    processor, _ = read(places_of(tmp_path, SERVER))
    assert (processor.tdp_watts, processor.tdp_source) == (700.0, "rapl")
    assert processor.simd == ("AVX2", "AVX-512", "AMX")


def test_without_rapl_the_catalogue_estimates_the_tdp(tmp_path: Path) -> None:
    """The estimate is marked as such, and the processor has its name in the catalogue."""
    files = {name: text for name, text in SERVER.items() if "powercap" not in name}
    processor, _ = read(places_of(tmp_path, files))
    assert processor.catalogue_name is not None
    assert "8480" in processor.catalogue_name
    assert (processor.tdp_watts, processor.tdp_source) == (350.0, "catalogue")


def test_an_empty_tree_gives_reasons_instead_of_values(tmp_path: Path) -> None:
    """A container that sees no files of the kernel has a reason for each unknown value."""
    processor, reasons = read(replace(places_of(tmp_path, {"proc/stat": "btime 1\n"})))
    assert processor.model is None
    assert processor.usable_cpus is None
    for name in ("model", "physical_cores", "usable_cpus", "max_mhz", "governor", "tdp_watts", "catalogue_name"):
        assert reasons[f"processor.{name}"]


@pytest.mark.parametrize(
    ("model", "plain"),
    [
        ("Intel(R) Xeon(R) CPU @ 2.20GHz", "Intel Xeon CPU"),
        ("AMD EPYC 9654 96-Core Processor", "AMD EPYC 9654"),
        ("AMD Ryzen 9 7950X 16-Core Processor", "AMD Ryzen 9 7950X"),
        ("12th Gen Intel(R) Core(TM) i7-1260P", "12th Gen Intel Core i7-1260P"),
    ],
)
def test_models_lose_marks_clock_and_core_count(model: str, plain: str) -> None:
    """The rest is the name under which a vendor lists the model."""
    assert plain_model(model) == plain


def test_families_of_arm_are_named_as_their_users_name_them() -> None:
    """`asimd` is NEON; plain AVX is listed only where nothing newer is there."""
    assert simd_families(("asimd", "asimdhp", "sve", "bf16")) == ("NEON", "SVE")
    assert simd_families(("avx",)) == ("AVX",)
    assert simd_families(()) == ()


def test_the_quota_of_a_container_limits_the_usable_cpus(tmp_path: Path) -> None:
    """A container with a quota of two CPUs on a machine with 64 may use two."""
    places = places_of(tmp_path, {})
    inventory = pb.Inventory(cpu=pb.Cpu(threads=64), limits=pb.ContainerLimits(cpus=2.0))
    assert usable_cpus(places, inventory) == 2.0
    assert usable_cpus(places, pb.Inventory(cpu=pb.Cpu(threads=64))) == 64.0


def test_sizes_of_caches_are_parsed() -> None:
    """The kernel writes kibibytes; anything else is unknown."""
    assert cache_bytes("32768K") == 32 * 2**20
    assert cache_bytes("1M") == 2**20
    assert cache_bytes("large") is None
