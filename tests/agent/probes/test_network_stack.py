"""Tests of the network stack probe."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.probes.network_stack import METRICS, NetworkStackProbe, parse_softnet, socket_values
from flyball_agent.probes.probe import Absent
from flyball_agent.probes.testing import broken_rules, values_by_name, write_tree

FILES = {
    "net/softnet_stat": "0000ffff 0000000a 00000001 0\n00001000 00000006 0000000f 0\n",
    "net/sockstat": "sockets: used 120\nTCP: inuse 9 orphan 1 tw 2 alloc 12 mem 3\nUDP: inuse 5 mem 2\nRAW: inuse 0\n",
    "net/sockstat6": "TCP6: inuse 4\nUDP6: inuse 1\n",
    "sys/net/netfilter/nf_conntrack_count": "77\n",
    "sys/net/netfilter/nf_conntrack_max": "1000\n",
}


def test_reads_all_values(tmp_path: Path) -> None:
    """Drops are hexadecimal and summed over the CPUs, memory is in bytes, and sockets of IPv6 are added."""
    page = os.sysconf("SC_PAGE_SIZE")
    sample = NetworkStackProbe(write_tree(tmp_path, FILES)).read()
    assert list(sample.values) == [16, 16, 120, 13, 1, 2, 3 * page, 6, 2 * page, 77, 1000]
    assert not sample.unavailable


def test_without_connection_tracking_it_has_a_reason(tmp_path: Path) -> None:
    """A host without a tracking firewall has no entries; that is unknown, not zero."""
    files = {name: text for name, text in FILES.items() if "conntrack" not in name}
    sample = NetworkStackProbe(write_tree(tmp_path, files)).read()
    assert values_by_name(sample)["connection_tracking_entries",] is None
    assert "nf_conntrack" in sample.unavailable[0].detail
    assert not list(broken_rules(sample))


def test_without_ipv6_the_sockets_of_ipv4_count(tmp_path: Path) -> None:
    """The file of IPv6 is missing where it is switched off."""
    files = {name: text for name, text in FILES.items() if not name.endswith("6")}
    values = values_by_name(NetworkStackProbe(write_tree(tmp_path, files)).read())
    assert values["tcp_sockets",] == 9


def test_the_network_of_process_1_is_that_of_the_host(tmp_path: Path) -> None:
    """If the host's procfs is mounted elsewhere, the drops are those of the host, not of the container."""
    files = FILES | {"1/net/dev": "", "1/net/softnet_stat": "00000001 00000063 00000000\n"}
    values = values_by_name(NetworkStackProbe(write_tree(tmp_path, files)).read())
    assert values["network_backlog_drops_total",] == 99


def test_nothing_is_absent(tmp_path: Path) -> None:
    """Without any of the files the probe is absent."""
    with pytest.raises(Absent):
        NetworkStackProbe(tmp_path).read()


@given(st.binary(max_size=100))
def test_no_bytes_crash_the_parsers(data: bytes) -> None:
    """Any content gives known numbers or None."""
    found = [*parse_softnet(data), *socket_values(data, data)]
    assert all(value is None or value >= 0 for value in found)
    assert len(found) == len(METRICS) - 2
