"""Tests of the NUMA probe."""

from pathlib import Path

import pytest

from flyball_agent.probes.numa import METRICS, NumaProbe
from flyball_agent.probes.probe import Absent
from flyball_agent.probes.testing import broken_rules, values_by_name, write_tree

NUMASTAT = "numa_hit {hit}\nnuma_miss 2\nnuma_foreign 3\ninterleave_hit 4\nlocal_node 5\nother_node 6\n"
MEMINFO = "Node {node} MemTotal: 1000 kB\nNode {node} MemFree: 400 kB\nNode {node} FilePages: 50 kB\n"


def node(number: int) -> dict[str, str]:
    """Return one node in sysfs."""
    folder = f"devices/system/node/node{number}"
    return {
        f"{folder}/numastat": NUMASTAT.format(hit=100 + number),
        f"{folder}/meminfo": MEMINFO.format(node=number),
    }


def test_reads_two_nodes(tmp_path: Path) -> None:
    """Each node has its own counters and memory."""
    sample = NumaProbe(write_tree(tmp_path, node(0) | node(1))).read()
    values = values_by_name(sample)
    assert (values["numa_hit_pages_total", "0"], values["numa_hit_pages_total", "1"]) == (100, 101)
    assert values["numa_miss_pages_total", "1"] == 2
    assert (values["numa_local_pages_total", "0"], values["numa_remote_pages_total", "0"]) == (5, 6)
    assert (values["numa_memory_total_bytes", "1"], values["numa_memory_free_bytes", "1"]) == (1024_000, 409_600)
    assert not sample.unavailable


def test_a_node_whose_files_vanish_is_unknown(tmp_path: Path) -> None:
    """A node whose files are gone keeps its columns, with a reason, and the other node is read."""
    files = {**node(0), "devices/system/node/node1/cpulist": "1\n"}
    sample = NumaProbe(write_tree(tmp_path, files)).read()
    assert len(sample.columns) == 2 * len(METRICS)
    assert values_by_name(sample)["numa_hit_pages_total", "1"] is None
    assert not list(broken_rules(sample))


def test_none_is_absent(tmp_path: Path) -> None:
    """On a kernel without NUMA the probe is absent."""
    with pytest.raises(Absent):
        NumaProbe(tmp_path).read()
