"""Tests of the network probe."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.probes.network import METRICS, NetworkProbe, interface_values, is_watched, parse_net_dev
from flyball_agent.probes.probe import Absent
from flyball_agent.probes.testing import broken_rules, values_by_name, write_tree

HEAD = """\
Inter-|   Receive                                                |  Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed
"""
LO = "    lo: 1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n"
ETH = "  eth0:1000 10 1 2 3 4 5 6 2000 20 7 8 9 10 11 12\n"
VETH = "veth12: 1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n"
IB = "  ib0: 1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n"


def test_reads_both_ways(tmp_path: Path) -> None:
    """Bytes, packets, errors and drops are read in both directions; loopback and virtual interfaces are skipped."""
    sample = NetworkProbe(write_tree(tmp_path, {"net/dev": HEAD + LO + ETH + VETH})).read()
    assert [column.labels for column in sample.columns] == [("eth0",)] * 8
    assert list(sample.values) == [1000, 10, 1, 2, 2000, 20, 7, 8]
    assert [column.metric for column in sample.columns] == list(METRICS)
    assert not sample.unavailable


def test_interfaces_come_and_go(tmp_path: Path) -> None:
    """The columns follow the interfaces, and without a change they are the same object."""
    probe = NetworkProbe(write_tree(tmp_path, {"net/dev": HEAD + ETH}))
    first = probe.read()
    assert probe.read().columns is first.columns
    write_tree(tmp_path, {"net/dev": HEAD + ETH + IB})
    assert ("network_sent_bytes_total", "ib0") in values_by_name(probe.read())
    write_tree(tmp_path, {"net/dev": HEAD + IB})
    assert ("network_sent_bytes_total", "eth0") not in values_by_name(probe.read())


def test_an_invalid_line_is_unknown(tmp_path: Path) -> None:
    """Fields that do not parse are unknown, with a reason."""
    sample = NetworkProbe(write_tree(tmp_path, {"net/dev": HEAD + ETH + IB.replace("1 2 3", "1 x 3")})).read()
    assert values_by_name(sample)["network_received_bytes_total", "ib0"] is None
    assert values_by_name(sample)["network_received_bytes_total", "eth0"] == 1000
    assert not list(broken_rules(sample))


def test_with_loopback_only_it_is_absent(tmp_path: Path) -> None:
    """With loopback only, the probe is absent; its values are not zero."""
    with pytest.raises(Absent):
        NetworkProbe(write_tree(tmp_path, {"net/dev": HEAD + LO})).read()


def test_in_a_container_the_network_of_the_host_is_read(tmp_path: Path) -> None:
    """With the host's procfs mounted elsewhere, the interfaces are those of its process 1."""
    probe = NetworkProbe(write_tree(tmp_path, {"net/dev": HEAD + ETH, "1/net/dev": HEAD + IB}))
    assert {column.labels for column in probe.read().columns} == {("ib0",)}


@pytest.mark.parametrize(
    ("name", "watched"),
    [
        ("eth0", True),
        ("enp1s0f0", True),
        ("ib0", True),
        ("bond0", True),
        ("lo", False),
        ("veth0a", False),
        ("docker0", False),
    ],
)
def test_virtual_interfaces_are_left_out(name: str, watched: bool) -> None:
    """Interfaces whose traffic another interface counts are skipped."""
    assert is_watched(name) is watched


@given(st.binary(max_size=200))
def test_no_bytes_crash_the_parser(data: bytes) -> None:
    """For any line, each metric has a value or None."""
    for _, fields in parse_net_dev(data + b"\nx:" + data + b" 1" * 12):
        assert len(interface_values(fields)) == len(METRICS)


def test_an_interface_that_is_listed_twice_has_its_columns_once(tmp_path: Path) -> None:
    """While interfaces come and go, the kernel may list one twice; the later line counts."""
    text = "eth0: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\neth0: 2 2 0 0 0 0 0 0 2 2 0 0 0 0 0 0\n"
    sample = NetworkProbe(write_tree(tmp_path, {"net/dev": text})).read()
    assert values_by_name(sample)["network_received_bytes_total", "eth0"] == 2
    assert not list(broken_rules(sample))


def test_negative_counters_are_unknown(tmp_path: Path) -> None:
    """A driver that reports a negative number gives unknown values with a reason."""
    text = "eth0: -1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n"
    sample = NetworkProbe(write_tree(tmp_path, {"net/dev": text})).read()
    assert set(sample.values) == {None}
    assert not list(broken_rules(sample))
