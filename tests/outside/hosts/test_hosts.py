"""Whole hosts from text: every reading is compared, and damage of any file gives a reason and never nonsense."""

import random
from pathlib import Path

import pytest

from flyball_agent.probes.probe import Probe, Unavailable
from flyball_agent.probes.testing import broken_rules
from flyball_proto.layout import Column, Layout
from tests.outside.hosts.archive import Entry, entries
from tests.outside.hosts.readings import FOLDER, description, host, host_probes, hosts, render

HOSTS = hosts()
LARGEST = 2**63 - 1
ROUNDS = 12


@pytest.mark.parametrize("name", HOSTS)
def test_all_readings_of_a_host(name: str) -> None:
    """Each reading is the expected one. `python -m tests.outside.hosts.readings` writes the expected texts again."""
    assert render(name).splitlines() == (FOLDER / f"{name}.expected").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("name", HOSTS)
def test_columns_of_a_host_are_a_layout_and_stay_the_same(name: str) -> None:
    """All columns together form a valid layout, and a second reading has the same column objects."""
    with host(description(name)) as root:
        columns: list[Column] = []
        for probe in host_probes(root):
            try:
                first, second = probe.read(), probe.read()
            except Unavailable:
                continue
            assert second.columns is first.columns, probe.name
            assert not list(broken_rules(second)), probe.name
            columns += first.columns
        assert len(set(columns)) == len(columns)
        assert Layout.parse(Layout(tuple(columns)).body).columns == tuple(columns)


@pytest.mark.parametrize("name", HOSTS)
def test_damaged_files_give_reasons(name: str) -> None:
    """However the files of a host are damaged, each probe returns possible values, or gives a reason."""
    chance = random.Random(name)
    files = description(name)
    for _ in range(ROUNDS):
        with host([damaged(entry, chance) for entry in files if chance.random() > 0.05]) as root:
            for probe in host_probes(root):
                assert not problems(probe), probe.name


def damaged(entry: Entry, chance: random.Random) -> Entry:
    """Return a file that is, one time out of two, cut off, emptied, or has wrong numbers or bytes."""
    if entry.target or chance.random() < 0.5:
        return entry
    content = chance.choice((cut, emptied, with_wrong_number, with_wrong_bytes, doubled))(entry.content, chance)
    return Entry(entry.path, content, mode=entry.mode)


def cut(content: bytes, chance: random.Random) -> bytes:
    """Return the beginning, as of a file that was read while it was written."""
    return content[: chance.randrange(len(content) + 1)]


def emptied(_content: bytes, _chance: random.Random) -> bytes:
    """Return nothing."""
    return b""


def doubled(content: bytes, _chance: random.Random) -> bytes:
    """Return the content twice: each device is listed again."""
    return content + content


def with_wrong_number(content: bytes, chance: random.Random) -> bytes:
    """Replace words by numbers that no kernel should write."""
    wrong = (b"-1", b"18446744073709551615", b"9" * 30, b"nan", b"1e400", b"0x", b"")
    words = content.split(b" ")
    for _ in range(3):
        words[chance.randrange(len(words))] = chance.choice(wrong)
    return b" ".join(words)


def with_wrong_bytes(content: bytes, chance: random.Random) -> bytes:
    """Replace single bytes."""
    data = bytearray(content)
    for _ in range(min(len(data), 5)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


def problems(probe: Probe) -> list[str]:
    """Return what is wrong with two readings of a probe. An exception that is not a reason fails the test."""
    found = []
    for _ in range(2):
        try:
            sample = probe.read()
        except Unavailable:
            continue
        found += list(broken_rules(sample))
        found += [
            f"{column.metric.name} does not fit into a record"
            for column, value in zip(sample.columns, sample.values, strict=True)
            if value is not None and not value * column.metric.scale <= LARGEST
        ]
    return found


def test_a_description_that_is_not_understood_is_refused() -> None:
    """A line that begins like an entry and is none is an error, not content."""
    with pytest.raises(ValueError, match="not an entry"):
        entries("== proc/stat (tomorrow)\ncpu 1")


def test_descriptions_repeat_and_split() -> None:
    """A range repeats an entry with its number, and a folder has one file for each line."""
    found = entries("comment\n== sys/eth{0..1}/\nspeed: {n}00\nname: a: b\n== sys/link -> ../x\n")
    assert [(entry.path, entry.content, entry.target) for entry in found] == [
        ("sys/eth0/speed", b"000\n", ""),
        ("sys/eth0/name", b"a: b\n", ""),
        ("sys/eth1/speed", b"100\n", ""),
        ("sys/eth1/name", b"a: b\n", ""),
        ("sys/link", b"", "../x"),
    ]


def test_the_expected_texts_belong_to_hosts() -> None:
    """Every expected text has its host."""
    assert sorted(path.stem for path in Path(FOLDER).glob("*.expected")) == HOSTS
