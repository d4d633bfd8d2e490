"""Tests of the RAID probe."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.probes.probe import Absent, Value
from flyball_agent.probes.raid import ACTIVITIES, MAX_ARRAYS, METRICS, STATES, RaidProbe, parse_mdstat
from flyball_agent.probes.testing import broken_rules, values_by_name, write_tree


def parsed(text: str) -> dict[str, Value]:
    """Return the values of the only array, by metric."""
    (array,) = parse_mdstat(text.encode())
    return dict(zip((metric.name.removeprefix("raid_") for metric in METRICS), array.values, strict=True))


def test_a_complete_array() -> None:
    """All disks work, and it is idle."""
    found = parsed(
        "md0 : active raid1 sdb1[1] sda1[0]\n      9 blocks super 1.2 [2/2] [UU]\n\nunused devices: <none>\n"
    )
    assert found == {
        "state": STATES.index("active"),
        "disks": 2,
        "disks_working": 2,
        "disks_failed": 0,
        "disks_spare": 0,
        "activity": ACTIVITIES.index("idle"),
        "activity_ratio": 1.0,
    }


def test_a_degraded_array_that_recovers() -> None:
    """A failed disk is replaced by a spare, with its progress."""
    found = parsed(
        "md6 : active raid1 sdb2[2](F) sdc[1](S) sda2[0]\n"
        "      195310144 blocks [2/1] [U_]\n"
        "      [=>...]  recovery =  8.5% (16775552/195310144) finish=17.0min speed=259783K/sec\n"
    )
    assert (found["disks"], found["disks_working"], found["disks_failed"], found["disks_spare"]) == (2, 1, 1, 1)
    assert found["activity"] == ACTIVITIES.index("recovery")
    assert found["activity_ratio"] == 0.085


@pytest.mark.parametrize(("line", "activity"), [("resync=DELAYED", "pending"), ("check = 100.0% (1/1)", "check")])
def test_activities(line: str, activity: str) -> None:
    """An array that waits for another is pending."""
    found = parsed(f"md9 : active raid1 a[0] b[1]\n      9 blocks [2/2] [UU]\n      {line}\n")
    assert found["activity"] == ACTIVITIES.index(activity)


def test_a_level_without_redundancy_needs_all_disks() -> None:
    """RAID 0 lists no counts: the disks of its first line are needed and work."""
    found = parsed("md12 : active raid0 sdc2[0] sdd2[1]\n      3886394368 blocks super 1.2 512k chunks\n")
    assert (found["disks"], found["disks_working"]) == (2, 2)


@pytest.mark.parametrize(
    ("words", "state"), [("active (read-only)", "read_only"), ("active (auto-read-only)", "active")]
)
def test_read_only_arrays(words: str, state: str) -> None:
    """An array that becomes writable with the first write counts as active."""
    assert parsed(f"md1 : {words} raid1 a[0] b[1]\n 9 blocks [2/2] [UU]\n")["state"] == STATES.index(state)


def test_an_inactive_array_has_no_working_disks() -> None:
    """The number of disks that it needs is unknown, because it is not assembled."""
    found = parsed("md4 : inactive raid1 sda3[0](F) sdb3[1](S)\n      4883648 blocks [2/2] [UU]\n")
    assert (found["state"], found["disks"], found["disks_working"]) == (STATES.index("inactive"), None, 0)


def test_containers_of_firmware_raid_are_skipped() -> None:
    """The container is always inactive, which is normal; the array in it is listed."""
    text = (
        "md126 : active raid0 sdb[1] sdc[0]\n      18 blocks super external:/md127/0 128k chunks\n\n"
        "md127 : inactive sdb[1](S) sdc[0](S)\n      79 blocks super external:imsm\n"
    )
    assert [array.name for array in parse_mdstat(text.encode())] == ["md126"]


def test_the_probe_reads_the_file(tmp_path: Path) -> None:
    """Columns are the same object until an array comes or goes, and missing values have a reason."""
    probe = RaidProbe(write_tree(tmp_path, {"mdstat": "md0 : inactive a[0]\n"}))
    first = probe.read()
    assert probe.read().columns is first.columns
    assert values_by_name(first)["raid_disks", "md0"] is None
    assert not list(broken_rules(first))


def test_the_number_of_arrays_is_limited() -> None:
    """However many arrays there are, only some are listed."""
    text = "".join(f"md{n} : active raid0 a[0]\n" for n in range(MAX_ARRAYS + 5))
    assert len(parse_mdstat(text.encode())) == MAX_ARRAYS


@pytest.mark.parametrize("files", [{}, {"mdstat": "Personalities : \nunused devices: <none>\n"}])
def test_none_is_absent(tmp_path: Path, files: dict[str, str]) -> None:
    """Without the driver or without an array the probe is absent."""
    with pytest.raises(Absent, match="no software RAID"):
        RaidProbe(write_tree(tmp_path, files)).read()


@given(st.binary(max_size=200))
def test_no_bytes_crash_the_parser(data: bytes) -> None:
    """For any content after the name, each metric has a value or None."""
    for array in parse_mdstat(b"md0 : active " + data):
        assert len(array.values) == len(METRICS)
