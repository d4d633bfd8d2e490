"""Tests of the inventory of network interfaces and InfiniBand ports."""

from pathlib import Path

from flyball_agent.inventory.networks import read_infiniband_ports, read_networks
from flyball_agent.probes.testing import write_tree

NET = "class/net"
TREE = {
    "drivers/mlx5_core/bind": "",
    f"{NET}/eth0/type": "1\n",
    f"{NET}/eth0/speed": "100000\n",
    f"{NET}/eth0/mtu": "9000\n",
    f"{NET}/eth0/device/driver": "->../../../../drivers/mlx5_core",
    f"{NET}/ib0/type": "32\n",
    f"{NET}/ib0/speed": "-1\n",
    f"{NET}/lo/type": "772\n",
    f"{NET}/wlan0/type": "1\n",
    f"{NET}/wlan0/phy80211/name": "phy0\n",
    f"{NET}/br0/type": "1\n",
    f"{NET}/br0/bridge/bridge_id": "1\n",
    f"{NET}/bond0/type": "1\n",
    f"{NET}/veth9/type": "1\n",
    f"{NET}/bonding_masters": "bond0\n",
}


def test_reads_kinds_drivers_and_speeds(tmp_path: Path) -> None:
    """Loopback is listed, virtual interfaces of containers are not, and an unknown speed is 0."""
    networks = {network.device: network for network in read_networks(write_tree(tmp_path, TREE))}
    assert {name: network.kind for name, network in networks.items()} == {
        "eth0": "ethernet",
        "ib0": "infiniband",
        "lo": "loopback",
        "wlan0": "wireless",
        "br0": "bridge",
        "bond0": "virtual",
    }
    eth0 = networks["eth0"]
    assert (eth0.driver, eth0.speed_bits_per_second, eth0.mtu_bytes) == ("mlx5_core", 100_000_000_000, 9000)
    assert networks["ib0"].speed_bits_per_second == 0


def test_reads_infiniband_ports(tmp_path: Path) -> None:
    """The state is a word, the rate is in bits a second."""
    folder = "class/infiniband/mlx5_0/ports/1"
    files = {"state": "4: ACTIVE\n", "rate": "400 Gb/sec (4X NDR)\n", "link_layer": "InfiniBand\n"}
    (port,) = read_infiniband_ports(write_tree(tmp_path, {f"{folder}/{name}": text for name, text in files.items()}))
    assert (port.device, port.port, port.state, port.link_layer) == ("mlx5_0", 1, "active", "InfiniBand")
    assert port.rate_bits_per_second == 400_000_000_000


def test_without_sysfs_the_lists_are_empty(tmp_path: Path) -> None:
    """Without sysfs there are no interfaces and no ports."""
    assert read_networks(tmp_path) == []
    assert read_infiniband_ports(tmp_path) == []
