"""Tests of machines, the links within their nodes and the networks between them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_planner.catalogue.devices import devices
from flyball_planner.catalogue.hardware import DeviceKind, DeviceLink
from flyball_planner.catalogue.links import link_named, network_named
from flyball_planner.catalogue.machines import machine
from flyball_planner.catalogue.tables import table
from flyball_planner.precision import NumberFormat
from flyball_reports.errors import InputError, UnknownName


def test_links_are_one_way() -> None:
    """Vendors add up both directions of NVLink. The catalogue has the rate of one direction."""
    rates = {name: link_named(name).bytes_per_second / 1e9 for name in ("NVLink 2", "NVLink 3", "NVLink 4", "NVLink 5")}
    assert rates == {"NVLink 2": 150, "NVLink 3": 300, "NVLink 4": 450, "NVLink 5": 900}
    assert link_named("pcie 4.0 X16").bytes_per_second == pytest.approx(16e9 * 16 / 8 * 128 / 130, rel=0.02)
    assert link_named("NVLink 4").latency_seconds < link_named("PCIe 4.0").latency_seconds


@given(ports=st.integers(1, 64), devices_a_node=st.integers(1, 72))
def test_a_network_is_shared_by_the_devices_of_a_node(ports: int, devices_a_node: int) -> None:
    """The shares of all devices add up to the rate of the node's ports, in every notation."""
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
def test_descriptions_of_networks_are_read(text: str, gigabits_a_device: float) -> None:
    """A description of a network gives a device's share; text about links within a node is ignored."""
    assert network_named(text, 8).bytes_per_second == pytest.approx(gigabits_a_device * 1e9 / 8)


def test_an_unknown_link_or_network_is_refused() -> None:
    """The error suggests a known name or the expected notation."""
    with pytest.raises(UnknownName, match="did you mean 'NVLink 4'"):
        link_named("NVLnk 4")
    with pytest.raises(UnknownName, match="400 Gb/s per GPU"):
        network_named("carrier pigeons", 8)
    with pytest.raises(InputError, match="must be above 0"):
        network_named("0 Gbps", 8)


def test_one_node_needs_no_network() -> None:
    """Eight devices in one node of eight have no network between nodes and need no assumption about it."""
    node = machine("H100", 8)
    assert (node.nodes, node.between_nodes, node.assumptions) == (1, None, ())


def test_an_unknown_network_is_a_stated_assumption() -> None:
    """Without a network the usual one is assumed and listed as an assumption; half a node has half the ports."""
    cluster = machine("A100", 64)
    assert cluster.between_nodes is not None
    assert cluster.between_nodes.bytes_per_second == 25e9
    assert "8 x InfiniBand HDR" in cluster.assumptions[0]
    halves = machine("A100", 64, devices_a_node=4).between_nodes
    assert halves is not None
    assert halves.bytes_per_second == 25e9
    assert "10GbE" in machine("4090", 16).assumptions[1]
    assert machine("A100", 64, network=DeviceLink("own", 1e9)).assumptions == ()


def test_single_card_machines_are_joined_by_an_assumed_network() -> None:
    """One card per machine means a network between all cards; several desktop cards together are an assumption."""
    spread, together = machine("RTX 3060", 8, devices_a_node=1), machine("RTX 3060", 8)
    assert (spread.nodes, together.nodes) == (8, 1)
    assert spread.between_nodes is not None
    assert spread.between_nodes.bytes_per_second == 1.25e9
    assert [text for text in spread.assumptions if "10GbE" in text]
    assert [text for text in together.assumptions if "devices_per_node" in text]
    assert machine("RTX 3060", 1).assumptions == ()
    assert not [text for text in machine("A100", 8).assumptions if "devices_per_node" in text]


def test_a_cloud_instance_is_a_machine() -> None:
    """The name of an instance type gives its devices, memory, cores and network."""
    two = machine("p4d.24xlarge", 16)
    assert (two.device.name, two.devices_a_node, two.nodes, two.host_cores) == ("A100 SXM4 40GB", 8, 2, 48)
    assert two.host_memory_bytes == 1152 * 2**30
    assert two.between_nodes is not None
    assert two.between_nodes.bytes_per_second == pytest.approx(400e9 / 8 / 8)
    assert machine("p5.48xlarge").devices == 8


def test_a_pod_is_a_machine() -> None:
    """A TPU pod is one node with all of its chips."""
    pod = machine("TPU_v4_pod")
    assert (pod.devices, pod.nodes, pod.device.kind) == (4096, 1, DeviceKind.TPU)


def test_half_of_a_card_is_a_device() -> None:
    """A process sees half of an MI250X. Both halves add up to the card."""
    half, card = machine("MI250X GCD").device, machine("MI250X").device
    assert half.memory_bytes * 2 == card.memory_bytes
    assert half.rate(NumberFormat.BF16) * 2 == card.rate(NumberFormat.BF16)
    assert half.devices_a_node == 2 * card.devices_a_node


def test_counts_below_one_are_refused() -> None:
    """A machine has at least one device."""
    with pytest.raises(InputError, match="devices must be at least 1, not 0"):
        machine("A100", 0)


def test_every_device_can_form_a_cluster() -> None:
    """Two nodes of any device have a network between them and, with several devices, links within."""
    for each in devices():
        cluster = machine(each, 2 * each.devices_a_node)
        assert cluster.between_nodes is not None
        assert each.devices_a_node == 1 or cluster.device.within_node is not None


def test_every_instance_has_a_price() -> None:
    """Every instance in the table of instances is also in the table of prices."""
    assert {row["name"] for row in table("instances")} <= {row["instance"] for row in table("prices")}
