"""Tests of the inventory of RAM, swap and NUMA nodes."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.inventory.memory import parse_swaps, read_memory_bytes, read_numa_nodes, read_swaps
from flyball_agent.probes.testing import write_tree

SWAPS = """\
Filename				Type		Size		Used		Priority
/dev/nvme0n1p3                          partition	8388604		0		-2
/swap\\040file                           file		1024		0		-3
/dev/zram0                              partition	2048		0		100
"""


def test_swaps_have_kinds(tmp_path: Path) -> None:
    """Compressed memory, which the kernel lists as a partition, is reported as zram."""
    swaps = read_swaps(write_tree(tmp_path, {"swaps": SWAPS}))
    assert [(swap.device, swap.kind, swap.bytes) for swap in swaps] == [
        ("/dev/nvme0n1p3", "partition", 8388604 * 1024),
        ("/swap file", "file", 1024 * 1024),
        ("/dev/zram0", "zram", 2048 * 1024),
    ]


def test_nodes_have_cpus_and_memory(tmp_path: Path) -> None:
    """Each node has the list of its CPUs in the kernel's format, and its memory."""
    files = {
        f"devices/system/node/node{n}/{name}": text
        for n in (0, 1)
        for name, text in (("cpulist", f"{n}-{n + 2}\n"), ("meminfo", f"Node {n} MemTotal:  100{n} kB\n"))
    }
    nodes = read_numa_nodes(write_tree(tmp_path, files))
    assert [(n.node, n.cpus, n.memory_bytes) for n in nodes] == [(0, "0-2", 1000 * 1024), (1, "1-3", 1001 * 1024)]


def test_unknown_fields_are_empty(tmp_path: Path) -> None:
    """Without files there is no swap and no node, and memory is unknown."""
    assert (read_memory_bytes(tmp_path), read_swaps(tmp_path), read_numa_nodes(tmp_path)) == (0, [], [])


@given(st.text(max_size=100))
def test_no_text_crashes_the_parser(text: str) -> None:
    """Lines that do not parse are skipped."""
    assert all(swap.bytes >= 0 for swap in parse_swaps("heading\n" + text + "\n/dev/a file " + text))
