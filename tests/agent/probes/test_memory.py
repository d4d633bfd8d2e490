"""Tests of the memory probe."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.probes.memory import METRICS, MemoryProbe, estimate_available, parse_meminfo
from flyball_agent.probes.probe import Unavailable
from flyball_agent.probes.testing import broken_rules, values_by_name, write_tree

MEMINFO = """\
MemTotal:       1000 kB
MemFree:         100 kB
MemAvailable:    250 kB
Buffers:           5 kB
Cached:           40 kB
SwapCached:        1 kB
Mlocked:           2 kB
SwapTotal:       800 kB
SwapFree:        600 kB
Dirty:             7 kB
Writeback:         0 kB
AnonPages:        90 kB
Mapped:           30 kB
Shmem:             6 kB
Slab:             11 kB
SReclaimable:      8 kB
PageTables:        3 kB
Committed_AS:   2000 kB
AnonHugePages:     4 kB
HugePages_Total:      16
HugePages_Free:        9
HugePages_Rsvd:        0
Hugepagesize:       2048 kB
"""


def test_reads_memory_in_bytes(tmp_path: Path) -> None:
    """Used memory is memory that is not available, as opposed to not free."""
    sample = MemoryProbe(write_tree(tmp_path, {"meminfo": MEMINFO})).read()
    values = values_by_name(sample)
    assert values["memory_total_bytes",] == 1000 * 1024
    assert values["memory_available_bytes",] == 250 * 1024
    assert values["memory_used_bytes",] == 750 * 1024
    assert values["memory_used_ratio",] == 0.75
    assert values["memory_cached_bytes",] == 40 * 1024
    assert values["memory_dirty_bytes",] == 7 * 1024
    assert values["swap_used_bytes",] == 200 * 1024
    assert (values["hugepages",], values["hugepages_free",], values["hugepage_bytes",]) == (16, 9, 2048 * 1024)
    assert not sample.unavailable


def test_no_swap_is_zero_not_unknown(tmp_path: Path) -> None:
    """A host without swap has 0 bytes of it, which is a known value."""
    text = MEMINFO.replace("800 kB", "0 kB").replace("600 kB", "0 kB")
    values = values_by_name(MemoryProbe(write_tree(tmp_path, {"meminfo": text})).read())
    assert (values["swap_total_bytes",], values["swap_used_bytes",]) == (0, 0)


def test_missing_lines_have_a_reason(tmp_path: Path) -> None:
    """On a kernel without huge pages and MemAvailable these values are unknown, each with a reason."""
    text = "".join(line for line in MEMINFO.splitlines(True) if "uge" not in line and "Available" not in line)
    sample = MemoryProbe(write_tree(tmp_path, {"meminfo": text})).read()
    assert values_by_name(sample)["memory_used_ratio",] is None
    assert "hugepages" in {unavailable_reading.metric for unavailable_reading in sample.unavailable}
    assert not list(broken_rules(sample))


def test_a_file_without_a_total_is_rejected() -> None:
    """A file without MemTotal is a failure with a reason."""
    with pytest.raises(Unavailable, match="MemTotal"):
        parse_meminfo(b"MemTotal:  what kB\n")


@given(st.binary(max_size=200))
def test_no_bytes_crash_the_parser(data: bytes) -> None:
    """For any content after the total, each metric has a value or None."""
    assert len(parse_meminfo(b"MemTotal: 1 kB\n" + data)) == len(METRICS)


def test_reads_this_host() -> None:
    """The file of this kernel parses, and all values that every kernel has are known."""
    values = values_by_name(MemoryProbe(Path("/proc")).read())
    assert 0 < (values["memory_used_bytes",] or 0) < (values["memory_total_bytes",] or 0)


OLD = """\
MemTotal:       65536000 kB
MemFree:         4096000 kB
Active(file):   15000000 kB
Inactive(file): 25500000 kB
SReclaimable:    1500000 kB
"""


def test_old_kernels_get_the_estimate_of_new_ones(tmp_path: Path) -> None:
    """Before Linux 3.14 the available memory is computed from the low watermark, which is 5/4 of the minimum."""
    files = {"meminfo": OLD, "sys/vm/min_free_kbytes": "90112\n"}
    values = values_by_name(MemoryProbe(write_tree(tmp_path, files)).read())
    low = 112640
    assert values["memory_available_bytes",] == (4096000 - low + 40500000 - low + 1500000 - low) * 1024


def test_little_cache_is_available_by_half() -> None:
    """Of a cache smaller than twice the watermark, half counts; the estimate is never negative."""
    data = b"\nMemFree: 10 kB\nActive(file): 4 kB\nInactive(file): 4 kB\nSReclaimable: 2 kB\n"
    assert estimate_available(data, 4 * 1024) == (10 - 5 + 8 - 4 + 2 - 1) * 1024
    assert estimate_available(data, 1000 * 1024) == 0


def test_without_the_watermark_the_estimate_is_unknown(tmp_path: Path) -> None:
    """If a part of the formula cannot be read, the available memory is unknown, with a reason."""
    sample = MemoryProbe(write_tree(tmp_path, {"meminfo": OLD})).read()
    assert values_by_name(sample)["memory_available_bytes",] is None
    assert not list(broken_rules(sample))


def test_more_free_swap_than_swap_is_unknown() -> None:
    """A damaged file does not give a negative use of swap."""
    values = dict(zip(METRICS, parse_meminfo(b"MemTotal: 9 kB\nSwapTotal: 1 kB\nSwapFree: 2 kB\n"), strict=True))
    assert next(value for metric, value in values.items() if metric.name == "swap_used_bytes") is None
