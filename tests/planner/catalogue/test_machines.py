"""Machines, the links within their nodes and the networks between them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_planner.catalogue import devices, machine
from flyball_planner.catalogue.hardware import DeviceKind, Link
from flyball_planner.catalogue.links import link_named, network_named
from flyball_planner.catalogue.tables import table
from flyball_planner.precision import Format
from flyball_reports.errors import InputError, UnknownName


def test_links_are_one_way() -> None:
    """Makers print both directions of NVLink together; a link here is what one device can send."""
    rates = {name: link_named(name).bytes_per_second / 1e9 for name in ("NVLink 2", "NVLink 3", "NVLink 4", "NVLink 5")}
    assert rates == {"NVLink 2": 150, "NVLink 3": 300, "NVLink 4": 450, "NVLink 5": 900}
    assert link_named("pcie 4.0 X16").bytes_per_second == pytest.approx(16e9 * 16 / 8 * 128 / 130, rel=0.02)
    assert link_named("NVLink 4").latency_seconds < link_named("PCIe 4.0").latency_seconds


@given(ports=st.integers(1, 64), devices_a_node=st.integers(1, 72))
def test_a_network_is_shared_by_the_devices_of_a_node(ports: int, devices_a_node: int) -> None:
    """All shares together are what the node's ports carry, however the rate is said."""
    for text in (f"{ports} x InfiniBand NDR", f"{ports * 400} Gbps", f"{ports * 50} GB/s", f"{ports * 0.4:g} Tbit/s"):
        assert network_named(text, devices_a_node).bytes_per_second * devices_a_node == pytest.approx(ports * 50e9)
    assert network_named(f"{ports} Gb/s per GPU", devices_a_node).bytes_per_second == pytest.approx(ports * 1e9 / 8)


@pytest.mark.parametrize(
    ("text", "gigabits_a_device"),
    [
        ("1600 Gbps RoCE node-node", 200),
        ("config: intra-node 150 GB/s, inter-node 800 Gbps", 100),
        ("NVLink; 4x Omni-Path per node", 50),
        ("NVLink; 400 Gb/s RDMA per GPU", 400),
        ("800 gbps", 100),
        ("100 GB/s", 100),
        ("EFA v2", 400),
        ("HDR", 25),
    ],
)
def test_networks_as_tables_write_them(text: str, gigabits_a_device: float) -> None:
    """Free words about a network give a device's share, and what they say of the inside of a node is passed over."""
    assert network_named(text, 8).bytes_per_second == pytest.approx(gigabits_a_device * 1e9 / 8)


def test_an_unknown_link_or_network_is_refused() -> None:
    """The message says what is known."""
    with pytest.raises(UnknownName, match="did you mean 'NVLink 4'"):
        link_named("NVLnk 4")
    with pytest.raises(UnknownName, match="400 Gb/s per GPU"):
        network_named("carrier pigeons", 8)
    with pytest.raises(InputError, match="carries nothing"):
        network_named("0 Gbps", 8)


def test_one_node_needs_no_network() -> None:
    """Eight devices of an eight-device node have no network between nodes, and nothing is assumed about it."""
    node = machine("H100", 8)
    assert (node.nodes, node.between_nodes, node.assumptions) == (1, None, ())


def test_what_is_not_said_is_assumed_aloud() -> None:
    """The usual network of such nodes is taken, and the machine says so; half a node has half its ports."""
    cluster = machine("A100", 64)
    assert cluster.between_nodes is not None
    assert cluster.between_nodes.bytes_per_second == 25e9
    assert "8 x InfiniBand HDR" in cluster.assumptions[0]
    halves = machine("A100", 64, devices_a_node=4).between_nodes
    assert halves is not None
    assert halves.bytes_per_second == 25e9
    assert "10GbE" in machine("4090", 16).assumptions[0]
    assert machine("A100", 64, network=Link("own", 1e9)).assumptions == ()


def test_a_cloud_instance_is_a_machine() -> None:
    """An instance type brings its devices, memory, cores and network."""
    two = machine("p4d.24xlarge", 16)
    assert (two.device.name, two.devices_a_node, two.nodes, two.host_cores) == ("A100 SXM4 40GB", 8, 2, 48)
    assert two.host_memory_bytes == 1152 * 2**30
    assert two.between_nodes is not None
    assert two.between_nodes.bytes_per_second == pytest.approx(400e9 / 8 / 8)
    assert machine("p5.48xlarge").devices == 8


def test_a_pod_is_a_machine() -> None:
    """The TPU pod is all of its chips on one torus."""
    pod = machine("TPU_v4_pod")
    assert (pod.devices, pod.nodes, pod.device.kind) == (4096, 1, DeviceKind.TPU)


def test_a_card_of_two_devices_can_be_planned_by_its_halves() -> None:
    """A process sees half of an MI250X; both halves together are the card."""
    half, card = machine("MI250X GCD").device, machine("MI250X").device
    assert half.memory_bytes * 2 == card.memory_bytes
    assert half.rate(Format.BF16) * 2 == card.rate(Format.BF16)
    assert half.devices_a_node == 2 * card.devices_a_node


def test_counts_below_one_are_refused() -> None:
    """No plan runs on nothing."""
    with pytest.raises(InputError, match="devices is 0"):
        machine("A100", 0)


def test_every_device_makes_a_cluster() -> None:
    """Two nodes of any device have links within and between."""
    for each in devices():
        cluster = machine(each, 2 * each.devices_a_node)
        assert cluster.between_nodes is not None
        assert each.devices_a_node == 1 or cluster.device.within_node is not None


def test_instances_are_offered() -> None:
    """Every instance whose network is known is also one with a price."""
    assert {row["name"] for row in table("instances")} <= {row["instance"] for row in table("prices")}
