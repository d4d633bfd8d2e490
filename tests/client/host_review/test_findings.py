"""Warnings and suggestions: each appears where its evidence is, and only there."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from flyball.host.hardware_parts import (
    DiskSpeed,
    HostBenchmarks,
    HostDisk,
    HostGpu,
    HostNetwork,
    HostSwap,
    HostTemperature,
    HostTier,
    WorkingFolder,
)
from flyball.host.hardware_profile import HardwareProfile
from flyball.host_review.host_finding import FindingKind, HostFinding, Surroundings
from flyball.host_review.host_review import RULES, review_host
from tests.client.host_review.recorded_hosts import OTHERS, PEERS, proposed, recorded

Change = Callable[[HardwareProfile], HardwareProfile]
GIB = 2**30


def _gpu(**values: Any) -> Change:
    """Return a change of the first GPU."""

    def change(profile: HardwareProfile) -> HardwareProfile:
        return replace(profile, gpus=(replace(profile.gpus[0], **values), *profile.gpus[1:]))

    return change


def _gpus(**values: Any) -> Change:
    """Return a change of all GPUs."""
    return lambda profile: replace(profile, gpus=tuple(replace(each, **values) for each in profile.gpus))


def _part(name: str, **values: Any) -> Change:
    """Return a change of one part."""
    return lambda profile: replace(profile, **{name: replace(getattr(profile, name), **values)})


def _swap(**values: Any) -> Change:
    swap = HostSwap(**{"device": "/dev/sda2", "kind": "partition", "bytes": 8 * GIB, "disk_kind": "ssd", **values})
    return lambda profile: replace(profile, swaps=(swap,))


def _together(*changes: Change) -> Change:
    def change(profile: HardwareProfile) -> HardwareProfile:
        for each in changes:
            profile = each(profile)
        return profile

    return change


OTHER_GPU = HostGpu(index=2, model="NVIDIA T4", catalogue_name="T4", memory_bytes=16 * GIB, vendor="nvidia")
SLOW_DISK = DiskSpeed(path="/data", bytes=GIB, write_mb_per_second=90, read_mb_per_second=110, direct=True)
SHOWN: tuple[tuple[str, Change], ...] = (
    ("battery", _part("power", source="battery", battery_percent=40.0)),
    ("supply", _part("power", supply_watts=1500.0)),
    ("supply-redundancy", _part("power", supply_watts=2000.0)),
    ("extreme-heat", _gpu(temperature_celsius=78.0)),
    ("gpu-hot", _gpu(temperature_celsius=82.0)),
    ("gpu-hot", _gpu(throttle_reasons=("sw_thermal",))),
    ("power-brake", _gpu(throttle_reasons=("hw_power_brake",))),
    ("gpu-memory-errors", _gpu(uncorrected_errors=3)),
    ("retired-pages", _gpu(retired_pages=2)),
    ("pages-pending", _gpu(pages_pending=True)),
    ("mig", _gpu(mig_enabled=True)),
    ("mixed-gpus", lambda profile: replace(profile, gpus=(*profile.gpus, OTHER_GPU))),
    ("gpu-in-use", _gpu(memory_used_bytes=12 * GIB)),
    ("pcie-link", _gpu(pcie_width=8, pcie_width_max=8)),
    ("pcie-link", _gpu(pcie_generation_max=3)),
    ("persistence", _gpu(persistence_mode=False)),
    ("power-limit", _gpu(power_limit_watts=200.0)),
    ("no-nvlink", _gpus(nvlinks=0)),
    ("old-driver", _part("software", cuda_version="10.2")),
    ("torch-build", _part("software", torch_build="cpu")),
    ("torch-cuda", _part("software", torch_build="cuda 13.0")),
    ("torch-card", _together(_part("software", torch_build="cuda 13.0"), _gpus(compute_capability="7.0"))),
    ("no-bf16", _gpus(precisions={"fp32": True, "fp16": True, "bf16": False})),
    ("open-files", _part("limits", open_files=1024)),
    ("locked-memory", _together(
        _part("limits", locked_memory_bytes=65536),
        lambda profile: replace(profile, networks=(HostNetwork(device="mlx5_0", kind="infiniband"),)),
    )),
    ("memory-limit", _part("memory", limit_bytes=64 * GIB)),
    ("shared-memory", _part("memory", shared_memory_bytes=64 * 2**20)),
    ("slow-swap", _swap(disk="sda", disk_kind="hdd", mb_per_second=150.0)),
    ("used-swap", _swap(used_bytes=60 * GIB)),
    ("swappiness", _together(_swap(), _part("memory", swappiness=60))),
    ("huge-pages", _part("memory", huge_pages="never")),
    ("memory-channels", _part("memory", modules=1)),
    ("memory-for-gpus", _part("memory", total_bytes=100 * GIB)),
    ("memory-errors", _part("memory", uncorrected_errors=1)),
    ("disk-full", _part("folder", free_bytes=80 * 10**9)),
    ("slow-folder", _part("folder", kind="hdd")),
    ("disk-speed", lambda profile: replace(profile, benchmarks=HostBenchmarks(disk=SLOW_DISK))),
    ("overlay", _part("folder", file_system="overlay")),
    ("cpu-quota", _part("limits", cpus=8.0)),
    ("cores-per-gpu", _part("processor", physical_cores=4, logical_cpus=8, usable_cpus=8.0)),
)  # fmt: skip


def _found(profile: HardwareProfile, around: Surroundings | None = None) -> tuple[HostFinding, ...]:
    """Return the findings without those that need configurations, which take a while."""
    return review_host(profile, around).findings


def _ids(profile: HardwareProfile, around: Surroundings | None = None) -> list[str]:
    return [each.id for each in _found(profile, around)]


HEALTHY = frozenset(_ids(recorded("server")))


def test_a_healthy_server_needs_little() -> None:
    """The recorded server has no warnings, and two suggestions that follow from how it is built."""
    assert [each.id for each in _found(recorded("server")) if each.kind is FindingKind.WARNING] == []
    assert {"no-nvlink", "numa"} == HEALTHY


@pytest.mark.parametrize(("id_", "change"), SHOWN, ids=[f"{number}-{id_}" for number, (id_, _) in enumerate(SHOWN)])
def test_a_finding_follows_its_evidence(id_: str, change: Change) -> None:
    """One changed value brings the finding; without it the server does not have it."""
    changed = change(recorded("server"))
    assert id_ in _ids(changed)
    assert id_ not in HEALTHY or id_ == "no-nvlink"


def test_nvlinks_end_the_suggestion_to_avoid_sharding() -> None:
    """The node's GPUs have NVLink, and the server's do not."""
    assert "no-nvlink" not in _ids(recorded("node"))


@pytest.mark.parametrize(
    ("driver", "preference", "expected"),
    [
        ("acpi-cpufreq", "", "governor"),
        ("intel_cpufreq", "", "governor"),
        ("intel_pstate", "balance_power", "energy-preference"),
        ("amd-pstate-epp", "power", "energy-preference"),
        ("intel_pstate", "balance_performance", None),
        ("", "", None),
    ],
)
def test_powersave_is_only_slow_where_the_driver_keeps_the_clock_low(
    driver: str, preference: str, expected: str | None
) -> None:
    """With intel_pstate and amd-pstate, the governor powersave raises the clock; without a driver nothing is known."""
    profile = _part("processor", governor="powersave")(recorded("server"))
    found = _ids(profile, Surroundings(scaling_driver=driver, energy_preference=preference))
    assert {"governor", "energy-preference"} & set(found) == ({expected} if expected else set())


def test_a_database_beside_the_training_is_named() -> None:
    """A server that runs on this machine is listed by its name. Memory in use is a share of what the limit leaves."""
    limited = _part("memory", limit_bytes=4 * GIB, available_bytes=GIB)(recorded("server"))
    (found,) = (each for each in _found(limited, Surroundings(databases=("mongod",))) if each.id == "database")
    assert found.fact == "mongod runs on this machine"
    assert "75 % of the memory is in use" in found.because


def test_a_processor_with_several_nodes_trains_with_a_process_for_each() -> None:
    """Without GPUs, the suggestion is one process on each NUMA node."""
    found = _found(replace(recorded("server"), gpus=()))
    (numa,) = (each for each in found if each.id == "numa")
    assert "torchrun --nproc-per-node=2" in numa.command


def test_the_worst_finding_comes_first() -> None:
    """Findings are ordered by how much they cost."""
    ranks = [each.rank for name in (*PEERS, *OTHERS) for each in _found(recorded(name))]
    assert set(ranks) == {1, 2, 3}
    for name in (*PEERS, *OTHERS):
        own = [each.rank for each in _found(recorded(name))]
        assert own == sorted(own, reverse=True)


def test_every_finding_has_evidence_and_an_action() -> None:
    """No finding is without its reason and what to do, and a suggestion has its effect too."""
    changed = [change(recorded("server")) for _, change in SHOWN]
    found = [finding for profile in changed for finding in _found(profile)]
    assert len({each.id for each in found}) >= len({id_ for id_, _ in SHOWN})
    assert all(each.fact and each.because and each.action for each in found)
    assert all(each.effect for each in found if each.kind is FindingKind.SUGGESTION)
    assert all("None" not in f"{each.fact}{each.because}{each.action}{each.command}" for each in found)


def test_an_empty_profile_has_no_findings() -> None:
    """An unknown value is not a problem: nothing is invented."""
    assert _ids(HardwareProfile(tier=HostTier.LOW)) == []
    unknown = HardwareProfile(
        tier=HostTier.LOW, gpus=(HostGpu(index=0),), disks=(HostDisk(device="sda"),), folder=WorkingFolder(path="/x"),
        temperatures=(HostTemperature(name="x", celsius=40.0),), networks=(HostNetwork(device="eth0"),),
        benchmarks=HostBenchmarks(),
    )  # fmt: skip
    assert _ids(unknown) == []


def test_the_rules_are_listed_once() -> None:
    """No rule runs twice."""
    assert len(set(RULES)) == len(RULES)


def test_space_for_checkpoints_is_compared_with_the_largest_configuration() -> None:
    """A folder that holds no two checkpoints of the extreme configuration is a warning; a large one is not."""
    server = recorded("server")
    review = review_host(_part("folder", bytes=4 * 10**9, free_bytes=2 * 10**9)(server), None, proposed("server"))
    (space,) = (each for each in review.findings if each.id == "checkpoint-space")
    assert "weights and AdamW's moments" in space.because
    assert "checkpoint-space" not in [each.id for each in review_host(server, None, proposed("server")).findings]
