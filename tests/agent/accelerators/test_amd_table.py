"""Tests of amdgpu's binary metrics table."""

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.accelerators.amd_table import parse_table
from flyball_agent.probes.probe import Unavailable, Unsupported
from tests.drm_trees import SIZES, metrics_table

ENERGY = {(1, 1): 24, (1, 2): 24, (1, 3): 24, (1, 4): 24, (1, 5): 88, (1, 6): 16, (1, 7): 24, (1, 8): 24}
CLOCK = {
    (1, 0): 8, (1, 1): 32, (1, 2): 32, (1, 3): 32, (1, 4): 32, (1, 5): 96, (1, 6): 24, (1, 7): 32, (1, 8): 32,
    (2, 0): 8, (2, 1): 32, (2, 2): 32, (2, 3): 32, (2, 4): 32, (3, 0): 104,
}  # fmt: skip
REPLAYS = {(1, 4): 88, (1, 5): 152, (1, 6): 104, (1, 7): 112, (1, 8): 112}
RECOVERIES = {version: offset - 8 for version, offset in REPLAYS.items()}
NAKS_SENT = {(1, 5): 168, (1, 6): 120, (1, 7): 128, (1, 8): 128}
NAKS_RECEIVED = {version: offset + 4 for version, offset in NAKS_SENT.items()}
XGMI_READ = {(1, 4): 104, (1, 5): 176, (1, 6): 128, (1, 7): 136, (1, 8): 136}
THROTTLE_BITS = {(1, 3): 112, (2, 2): 120, (2, 3): 120, (2, 4): 120}
ACCUMULATION = {(1, 6): 32, (1, 7): 40, (1, 8): 40}
U16, U32, U64, U8 = 2, 4, 6, 0


def self_described(*attributes: tuple[int, int, tuple[int, ...]]) -> bytes:
    """Return a table of version 1.9: id, type and values of each attribute."""
    body = b""
    for number, kind, values in attributes:
        word = 3 << 24 | kind << 20 | number << 10 | len(values)
        body += struct.pack("=Q", word) + struct.pack(f"={len(values)}{'BbHhIiQq'[kind]}", *values)
    return struct.pack("=HBBi", 8 + len(body), 1, 9, len(attributes)) + body


@pytest.mark.parametrize("version", SIZES, ids=lambda version: f"{version[0]}.{version[1]}")
def test_each_version_is_read_at_the_kernels_offsets(version: tuple[int, int]) -> None:
    """The fields of each documented version are where the kernel's structure has them."""
    places = {
        "energy": ENERGY, "clock_ns": CLOCK, "pcie_replays": REPLAYS, "pcie_recoveries": RECOVERIES,
        "throttle_bits": THROTTLE_BITS,
    }  # fmt: skip
    expected = {name: 1000 + number for number, (name, offsets) in enumerate(places.items()) if version in offsets}
    values = {places[name][version]: ("Q", value) for name, value in expected.items()}
    for name, offsets in (("pcie_naks_sent", NAKS_SENT), ("pcie_naks_received", NAKS_RECEIVED)):
        if version in offsets:
            expected[name] = values_at = offsets[version]
            values[values_at] = ("I", values_at)
    if version in ACCUMULATION:
        names = ("accumulation", "prochot", "power", "socket_thermal", "regulator_thermal", "memory_thermal")
        expected |= {name: 7 + number for number, name in enumerate(names)}
        start = ACCUMULATION[version]
        values |= {start + 4 * number: ("I", 7 + number) for number in range(len(names))}
    table = parse_table(metrics_table(*version, values))
    assert {name: numbers[0] for name, numbers in table.values.items()} == expected
    assert table.version == f"{version[0]}.{version[1]}"


@pytest.mark.parametrize("version", XGMI_READ, ids=str)
def test_links_are_summed_and_those_without_a_value_left_out(version: tuple[int, int]) -> None:
    """XGMI has eight counters in each direction; a link that does not exist keeps its initial ones."""
    read = XGMI_READ[version]
    values = {read: ("Q", 5), read + 8: ("Q", 7), read + 64: ("Q", 11)}
    table = parse_table(metrics_table(*version, values))
    assert (table.total("xgmi_read_kib"), table.total("xgmi_write_kib")) == (12, 11)


def test_a_table_that_describes_itself_is_read_by_its_words() -> None:
    """Version 1.9 is read by id, type and count of each value, in any order and width, without padding."""
    table = parse_table(
        self_described(
            (0, U16, (44,)),
            (31, U8, (1, 0, 1)),
            (7, U64, (65536,)),
            (900, U32, (1, 2, 3)),
            (29, U64, (10, 20, 0xFFFF_FFFF_FFFF_FFFF)),
            (9, U32, (0xFFFF_FFFF,)),
        )
    )
    assert table.values == {"xgmi_status": (1, 0, 1), "energy": (65536,), "xgmi_read_kib": (10, 20)}


def test_an_unknown_version_is_unsupported_with_its_number() -> None:
    """A version without a known layout is not guessed."""
    with pytest.raises(Unsupported, match=r"version 1\.12 of gpu_metrics is not known"):
        parse_table(struct.pack("=HBB", 120, 1, 12) + b"\0" * 116)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x78\x00\x01",
        metrics_table(1, 3, {})[:-8],
        struct.pack("=HBB", 112, 1, 3) + b"\0" * 108,
        struct.pack("=HBB", 300, 1, 7) + b"\0" * 296,
        self_described((7, U64, (1,)))[:-1],
        self_described((7, U64, (1,)))[:-8],
        struct.pack("=HBBi", 8, 1, 9, 3),
        struct.pack("=HBBiQ", 16, 1, 9, 1, 15 << 20 | 1),
    ],
    ids=["empty", "short", "cut", "small", "smaller", "half", "word", "none", "type"],
)
def test_a_table_of_wrong_size_is_a_failure(data: bytes) -> None:
    """A cut table, or one whose size is not that of its version, gives a reason and no values."""
    with pytest.raises(Unavailable, match="gpu_metrics"):
        parse_table(data)


@given(st.binary(max_size=400))
def test_any_bytes_give_a_table_or_a_reason(data: bytes) -> None:
    """No content of the file raises anything but a reason."""
    with contextlib.suppress(Unavailable):
        assert all(numbers for numbers in parse_table(data).values.values())
