"""All health detectors over a fleet that never stands still."""

import random

import pytest

from flyball_collector.diagnosis.health.catalogue import health_detectors
from flyball_collector.diagnosis.health.settings import HealthSettings
from flyball_collector.engine.testing.hosts import Stage
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
    """Hosts join, fall silent, leave, change their columns, tell anything: every detector goes on, and what is
    raised for a host that left is cleared."""
    chance = random.Random(seed)
    on = Stage(*health_detectors(HealthSettings(gpu_missing_seconds=60)))
    names = [f"h{number}" for number in range(6)]
    for _ in range(250):
        name = chance.choice(names)
        change(on, name, chance)
        on.step(chance.choice([1, 1, 1, 5]))
    for name in names:
        on.mute.add(name)
        on.fleet.remove(name)
    on.host("last")
    on.step(5)
    left = {active.subject.host for active in on.diagnosis.conditions.active()}
    assert left <= {"last"}


def change(on: Stage, name: str, chance: random.Random) -> None:
    """Something happens on a host."""
    gpu = f"GPU-{chance.randrange(3)}"
    value = chance.choice([0, 0, 1, 2, 12, None])
    match chance.randrange(9):
        case 0:
            on.mute.discard(name)
            on.host(name)
        case 1:
            on.mute.add(name)
            on.fleet.remove(name)
        case 2:
            on.mute.symmetric_difference_update({name})
        case 3:
            on.set(chance.choice(GPU), value, host=name, gpu=gpu)
        case 4:
            on.set(chance.choice(HOST), value, host=name)
        case 5:
            on.tell("gpu_xid", host=name, resource=chance.choice([gpu, ""]), code=chance.randrange(200))
            on.tell("oom_kill", host=name, resource="python", ago=chance.uniform(-50, 500))
        case 6:
            reason = chance.choice(list(Reason))
            on.host(name).unavailable = (UnavailableReading("nvidia", "", "", reason, "detail"),)
        case 7:
            on.host(name)
            on.drop(chance.choice(GPU), host=name, gpu=gpu)
        case _:
            kind = chance.choice(["infiniband_link_downs_total", "infiniband_state"])
            on.set(kind, value, host=name, device="mlx5_0", port=str(chance.randrange(2)))
            on.set("filesystem_read_only", chance.choice([0, 1]), host=name, mount="/data")
            on.set("network_received_packets_total", value, host=name, interface="eth0")
