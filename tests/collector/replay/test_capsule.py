"""Incident capsules: stored data of an incident are replayed from one file, and invalid files are refused."""

import io
import zipfile
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flyball_collector.blocks.testing import SECOND_NS, START_NS, rows, small_block, small_layout
from flyball_collector.engine.player import Player
from flyball_collector.engine.settings import DiagnosisSettings
from flyball_collector.replay import capsule
from flyball_collector.replay.capsule import Capsule, settings_of
from flyball_collector.replay.errors import ReplayError
from flyball_collector.replay.host_rows import definitions_of, read_host_rows
from flyball_collector.replay.stored_series import recording_of
from flyball_collector.store.memory import MemoryStore
from flyball_proto.layout import Layout
from flyball_proto.unavailable_reading import Reason, UnavailableReading, unavailable_body
from flyball_proto.v1 import telemetry_pb2 as pb

LAYOUT = small_layout()
END_NS = START_NS + 180 * SECOND_NS
STEP = pb.Record(steps=[pb.StepReport(run="r", rank=3, steps=2, step_seconds=1.5)]).SerializeToString()


def store() -> MemoryStore:
    """Return a store with two minutes of two hosts, with an unavailable reading, an inventory and a step report."""
    made = MemoryStore()
    made.put_document("layout", f"{LAYOUT.digest:016x}", LAYOUT.layout.body)
    unavailable = unavailable_body([UnavailableReading("nvidia", "", "", Reason.TIMED_OUT)])
    made.put_document("unavailable", f"{7:016x}", unavailable)
    made.put_document("inventory", "a", pb.Inventory(kernel="6.1").SerializeToString())
    made.put_blocks([small_block(host, number, layout=LAYOUT) for host in "ab" for number in range(2)])
    return made


def manifest(**changes: object) -> Capsule:
    about = Capsule(
        format=capsule.FORMAT,
        version="0.1.0",
        agents={"a": "0.1.0"},
        written_ns=END_NS,
        start_ns=START_NS,
        end_ns=END_NS,
        hosts=("a", "b"),
        event={"kind": "gpu_xid"},
        events=(),
        scores=(),
        settings=msgspec.to_builtins(DiagnosisSettings()),
    )
    return msgspec.structs.replace(about, **changes)


def packed(made: MemoryStore) -> bytes:
    return capsule.write(manifest(), read_host_rows(made, ["a", "b"], START_NS, END_NS), definitions_of(made))


def test_a_capsule_replays_like_the_store(tmp_path: Path) -> None:
    """Every record of every host is the same from the file as from the store."""
    made = store()
    path = tmp_path / "incident.flyball"
    path.write_bytes(packed(made))
    assert capsule.is_capsule(path)
    contents = capsule.read(path)
    assert contents.capsule.hosts == ("a", "b")
    here = recording_of(contents.hosts, contents.find)
    there = recording_of(read_host_rows(made, ["a", "b"], START_NS, END_NS), definitions_of(made))
    assert len(here.ticks) == len(there.ticks) == 240
    for one, other in zip(here.ticks, there.ticks, strict=True):
        assert (one.host, one.corrected_ns, one.values.tolist()) == (
            other.host,
            other.corrected_ns,
            other.values.tolist(),
        )
    assert here.about.inventories["a"].kernel == "6.1"
    player = Player(here)
    assert sum(len(ticks) for ticks, _ in player.play()) == 240
    assert [state.name for state in player.fleet.hosts()] == ["a", "b"]


def test_rows_that_are_not_stored_yet_are_used_once() -> None:
    """Buffered and stored rows overlap; a record is replayed once, with its steps and unavailable readings."""
    made = store()
    recent = rows(LAYOUT, range(100, 130), extras={129: STEP})
    recent.unavailable[:] = 7

    def gathered(host: str, _start: int, _end: int) -> list[tuple[Layout, object]]:
        return [(LAYOUT.layout, recent)] if host == "a" else []

    found = recording_of(read_host_rows(made, ["a"], START_NS, END_NS, gathered), definitions_of(made))  # type: ignore[arg-type]
    assert [tick.corrected_ns for tick in found.ticks] == [START_NS + n * SECOND_NS for n in range(130)]
    last = found.ticks[-1]
    assert pb.Record.FromString(last.extras).steps[0].rank == 3
    assert found.about.unavailable[last.unavailable][0].reason is Reason.TIMED_OUT


def test_settings_of_another_version_are_used_as_far_as_they_are_known() -> None:
    """An unknown key is returned, and the others are applied."""
    found, unknown = settings_of(manifest(settings={"disabled": ["gpu_xid"], "mood": 3}))
    assert found.disabled == ("gpu_xid",)
    assert unknown == ["mood"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "damaged"),
        (b"PK\x03\x04 and then nothing", "damaged"),
        (b"hello", "damaged"),
    ],
)
def test_a_file_that_is_not_a_capsule_is_refused(tmp_path: Path, body: bytes, message: str) -> None:
    """The message is one line with the file's name, whatever the bytes are."""
    path = tmp_path / "x.flyball"
    path.write_bytes(body)
    with pytest.raises(ReplayError, match=message):
        capsule.read(path)


def test_another_archive_and_a_later_format_are_distinguished(tmp_path: Path) -> None:
    """Neither is called damaged."""
    path = tmp_path / "x.flyball"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("photo.jpg", b"x")
    with pytest.raises(ReplayError, match="not a Flyball capsule"):
        capsule.read(path)
    path.write_bytes(capsule.write(manifest(format=9), (), lambda _kind, _digest: None))
    with pytest.raises(ReplayError, match="format 9; this version of Flyball reads 1"):
        capsule.read(path)


def without(body: bytes, part: str) -> bytes:
    """Return the capsule without the files whose names contain a text."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(body)) as source, zipfile.ZipFile(file, "w") as rest:
        for name in source.namelist():
            if part not in name:
                rest.writestr(name, source.read(name))
    return file.getvalue()


@pytest.mark.parametrize(("part", "message"), [("/rows-", "no readings"), ("/layout/", "no layouts for its readings")])
def test_a_capsule_without_rows_or_their_layouts_is_refused(tmp_path: Path, part: str, message: str) -> None:
    """The message has the reason and a remedy."""
    path = tmp_path / "x.flyball"
    path.write_bytes(without(packed(store()), part))
    with pytest.raises(ReplayError, match=rf"{message}.*create it again"):
        capsule.read(path)


def test_a_capsule_with_rows_of_one_host_is_replayed(tmp_path: Path) -> None:
    """Missing rows of other hosts are accepted."""
    path = tmp_path / "x.flyball"
    path.write_bytes(without(packed(store()), "hosts/1/rows-"))
    contents = capsule.read(path)
    assert len(recording_of(contents.hosts, contents.find).ticks) == 120


def test_an_offset_before_the_beginning_is_called_damage(tmp_path: Path) -> None:
    """The upper byte of the offset of the archive's directory is changed: the capsule is damaged, not the disk."""
    body = bytearray(packed(store()))
    body[-3] ^= 0xFF
    path = tmp_path / "x.flyball"
    path.write_bytes(body)
    with pytest.raises(ReplayError, match=r"damaged: .*create it again"):
        capsule.read(path)


def test_a_file_without_read_permission_is_not_called_damaged(tmp_path: Path) -> None:
    """The message is the operating system's."""
    with pytest.raises(ReplayError, match="there is no file"):
        capsule.read(tmp_path / "none.flyball")


def test_a_decompression_bomb_is_refused(tmp_path: Path) -> None:
    """Memory for unpacking is limited, whatever sizes the archive claims."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(capsule.MANIFEST, bytes(2_000_000))
    path = tmp_path / "bomb.flyball"
    path.write_bytes(file.getvalue())
    with pytest.raises(ReplayError, match="more than 1,000,000 bytes in the capsule"):
        capsule.read(path, max_bytes=1_000_000)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_damage_anywhere_gives_a_clear_error(tmp_path: Path, data: st.DataObject) -> None:
    """With some bytes overwritten, a capsule is refused, or the rest of it is replayed."""
    body = bytearray(packed(store()))
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "damaged.flyball"
    path.write_bytes(body)
    with suppress(ReplayError):
        contents = capsule.read(path)
        recording_of(contents.hosts, contents.find)
