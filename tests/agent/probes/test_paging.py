"""Tests of the paging probe."""

import os
from pathlib import Path

import pytest

from flyball_agent.probes.paging import KeyPositions, PagingProbe
from flyball_agent.probes.probe import Unavailable
from flyball_agent.probes.testing import broken_rules, values_by_name, write_tree

VMSTAT = """\
nr_free_pages 5904077
pgpgin 30
pgpgout 40
pswpin 2
pswpout 3
pgfault 500
pgmajfault 60
pgscan_kswapd 70
pgscan_direct 80
oom_kill 1
numa_pages_migrated 9
compact_stall 4
thp_fault_fallback 5
"""


def test_swapped_pages_are_bytes(tmp_path: Path) -> None:
    """Swap counters are in pages of this machine, paging counters in KiB."""
    sample = PagingProbe(write_tree(tmp_path, {"vmstat": VMSTAT})).read()
    values = values_by_name(sample)
    page = os.sysconf("SC_PAGE_SIZE")
    assert (values["swap_in_bytes_total",], values["swap_out_bytes_total",]) == (2 * page, 3 * page)
    assert (values["paged_in_bytes_total",], values["paged_out_bytes_total",]) == (30 * 1024, 40 * 1024)
    assert (values["memory_major_faults_total",], values["memory_faults_total",]) == (60, 500)
    assert values["oom_kills_total",] == 1
    assert not sample.unavailable


def test_follows_lines_that_move(tmp_path: Path) -> None:
    """Each value is found by its name, although numbers change their length and lines come and go."""
    probe = PagingProbe(write_tree(tmp_path, {"vmstat": VMSTAT}))
    before = probe.read()
    for text in (
        VMSTAT.replace("pgpgin 30", "pgpgin 3" + "0" * 15),
        "pgfault 500\npgmajfault 61\n",
        "x 1\n" * 99 + VMSTAT,
    ):
        write_tree(tmp_path, {"vmstat": text})
        sample = probe.read()
        assert values_by_name(sample)["memory_faults_total",] == 500
        assert not list(broken_rules(sample))
    assert sample.values == before.values


def test_a_key_is_not_found_inside_another() -> None:
    """pgfault does not match the end of a longer name."""
    places = KeyPositions([b"\nfault "])
    assert places.numbers(b"\npgfault 1\nfault 2\n") == [2]
    assert places.numbers(b"\npgfault 1\nfault x\n") == [None]


def test_a_file_without_known_lines_is_rejected(tmp_path: Path) -> None:
    """A file with other content is a failure with a reason."""
    with pytest.raises(Unavailable, match="vmstat"):
        PagingProbe(write_tree(tmp_path, {"vmstat": "hello\n"})).read()


def test_old_kernels_count_reclaim_for_each_zone(tmp_path: Path) -> None:
    """Before Linux 4.8 the pages scanned are the sum over the zones; throttled processes are not pages."""
    text = (
        "pswpin 0\npgscan_kswapd_dma 1\npgscan_kswapd_normal 20\n"
        "pgscan_direct_dma32 300\npgscan_direct_movable 4000\npgscan_direct_throttle 50000\n"
    )
    values = values_by_name(PagingProbe(write_tree(tmp_path, {"vmstat": text})).read())
    assert values["reclaim_background_pages_total",] == 21
    assert values["reclaim_direct_pages_total",] == 4300


def test_a_counter_that_is_too_large_in_bytes_is_unknown(tmp_path: Path) -> None:
    """A number of pages that a record cannot hold in bytes has no value, and a reason."""
    sample = PagingProbe(write_tree(tmp_path, {"vmstat": f"pswpin {2**62}\npgfault 7\n"})).read()
    assert values_by_name(sample)["swap_in_bytes_total",] is None
    assert not list(broken_rules(sample))
