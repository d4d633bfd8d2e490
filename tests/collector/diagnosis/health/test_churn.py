"""All health detectors on a fleet that constantly changes."""

import random

import pytest

from flyball_collector.diagnosis.health.catalogue import health_detectors
from flyball_collector.diagnosis.health.settings import HealthSettings
from flyball_collector.engine.testing.hosts import SimulatedFleet
from flyball_proto.unavailable_reading import Reason, UnavailableReading

HOST = (
    "oom_kills_total",
    "cgroup_oom_kills_total",
    "agent_spool_degraded",
    "agent_records_lost_total",
    "tcp_sent_segments_total",
    "tcp_retransmitted_segments_total",
)
GPU = (
    "gpu_utilization_ratio",
    "gpu_lost",
    "gpu_ecc_uncorrected_errors_total",
    "gpu_row_remap_pending",
    "gpu_nvlink_links",
    "gpu_nvlink_active_links",
    "gpu_pcie_generation",
    "gpu_pcie_width_lanes",
    "gpu_pcie_width_max_lanes",
    "gpu_recovery_action",
)


@pytest.mark.parametrize("seed", range(4))
def test_no_detector_fails_while_hosts_come_and_go(seed: int) -> None:
    """Hosts join, stop reporting, leave, change their columns and report anything.

    No detector fails, and conditions of hosts that left are cleared.
    """
    chance = random.Random(seed)
    fleet = SimulatedFleet(*health_detectors(HealthSettings(gpu_missing_seconds=60)))
    names = [f"h{number}" for number in range(6)]
    for _ in range(250):
        name = chance.choice(names)
        change(fleet, name, chance)
        fleet.step(chance.choice([1, 1, 1, 5]))
    for name in names:
        fleet.not_reporting.add(name)
        fleet.fleet.remove(name)
    fleet.host("last")
    fleet.step(5)
    left = {active.subject.host for active in fleet.diagnosis.conditions.active()}
    assert left <= {"last"}


def change(fleet: SimulatedFleet, name: str, chance: random.Random) -> None:
    """Change something on a host."""
    gpu = f"GPU-{chance.randrange(3)}"
    value = chance.choice([0, 0, 1, 2, 12, None])
    match chance.randrange(9):
        case 0:
            fleet.not_reporting.discard(name)
            fleet.host(name)
        case 1:
            fleet.not_reporting.add(name)
            fleet.fleet.remove(name)
        case 2:
            fleet.not_reporting.symmetric_difference_update({name})
        case 3:
            fleet.set(chance.choice(GPU), value, host=name, gpu=gpu)
        case 4:
            fleet.set(chance.choice(HOST), value, host=name)
        case 5:
            fleet.add_event("gpu_xid", host=name, resource=chance.choice([gpu, ""]), code=chance.randrange(200))
            fleet.add_event("oom_kill", host=name, resource="python", ago=chance.uniform(-50, 500))
        case 6:
            reason = chance.choice(list(Reason))
            fleet.host(name).unavailable = (UnavailableReading("nvidia", "", "", reason, "detail"),)
        case 7:
            fleet.host(name)
            fleet.drop(chance.choice(GPU), host=name, gpu=gpu)
        case _:
            kind = chance.choice(["infiniband_link_downs_total", "infiniband_state"])
            fleet.set(kind, value, host=name, device="mlx5_0", port=str(chance.randrange(2)))
            fleet.set("filesystem_read_only", chance.choice([0, 1]), host=name, mount="/data")
            fleet.set("network_received_packets_total", value, host=name, interface="eth0")
