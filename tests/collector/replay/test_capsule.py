"""Incident capsules: what is stored of an incident plays again from one file, and bad files are refused."""

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
from flyball_collector.replay.collect import collect, definitions_of
from flyball_collector.replay.errors import ReplayError
from flyball_collector.replay.stored_series import recording_of
from flyball_collector.store.memory import MemoryStore
from flyball_proto.layout import Layout
from flyball_proto.unavailable_reading import Reason, UnavailableReading, unavailable_body
from flyball_proto.v1 import telemetry_pb2 as pb

LAYOUT = small_layout()
END_NS = START_NS + 180 * SECOND_NS
STEP = pb.Record(steps=[pb.StepReport(run="r", rank=3, steps=2, step_seconds=1.5)]).SerializeToString()


def store() -> MemoryStore:
    """Two minutes of two hosts, with a unavailable reading, an inventory, and a step that one of them tells."""
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
    return capsule.write(manifest(), collect(made, ["a", "b"], START_NS, END_NS), definitions_of(made))


def test_a_capsule_plays_as_the_store_does(tmp_path: Path) -> None:
    """Every record of every host comes out of the file as it comes out of the store."""
    made = store()
    path = tmp_path / "incident.flyball"
    path.write_bytes(packed(made))
    assert capsule.is_capsule(path)
    contents = capsule.read(path)
    assert contents.capsule.hosts == ("a", "b")
    here = recording_of(contents.hosts, contents.find)
    there = recording_of(collect(made, ["a", "b"], START_NS, END_NS), definitions_of(made))
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


def test_rows_that_are_not_stored_yet_count_once() -> None:
    """What is gathered and what is stored overlap; a record is played once, with its steps and unavailable readings."""
    made = store()
    recent = rows(LAYOUT, range(100, 130), extras={129: STEP})
    recent.unavailable[:] = 7

    def gathered(host: str, _start: int, _end: int) -> list[tuple[Layout, object]]:
        return [(LAYOUT.layout, recent)] if host == "a" else []

    found = recording_of(collect(made, ["a"], START_NS, END_NS, gathered), definitions_of(made))  # type: ignore[arg-type]
    assert [tick.corrected_ns for tick in found.ticks] == [START_NS + n * SECOND_NS for n in range(130)]
    last = found.ticks[-1]
    assert last.told is not None
    assert last.told.steps[0].rank == 3
    assert found.about.unavailable[last.unavailable][0].reason is Reason.TIMED_OUT


def test_settings_of_another_version_are_taken_as_far_as_they_are_known() -> None:
    """A key that this version does not have is named, and the others hold."""
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
def test_a_file_that_is_no_capsule_is_refused(tmp_path: Path, body: bytes, message: str) -> None:
    """One line with the file's name, whatever the bytes are."""
    path = tmp_path / "x.flyball"
    path.write_bytes(body)
    with pytest.raises(ReplayError, match=message):
        capsule.read(path)


def test_an_archive_of_something_else_and_a_later_format_are_told_apart(tmp_path: Path) -> None:
    """Neither is called damaged."""
    path = tmp_path / "x.flyball"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("photo.jpg", b"x")
    with pytest.raises(ReplayError, match="no capsule of Flyball"):
        capsule.read(path)
    path.write_bytes(capsule.write(manifest(format=9), (), lambda _kind, _digest: None))
    with pytest.raises(ReplayError, match="format 9; this version reads 1"):
        capsule.read(path)


def without(body: bytes, part: str) -> bytes:
    """The same capsule, less the files whose names hold this."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(body)) as whole, zipfile.ZipFile(file, "w") as rest:
        for name in whole.namelist():
            if part not in name:
                rest.writestr(name, whole.read(name))
    return file.getvalue()


@pytest.mark.parametrize(
    ("part", "message"), [("/rows-", "no readings of any host"), ("/layout/", "lacks the layouts")]
)
def test_a_capsule_without_rows_or_their_layouts_is_refused(tmp_path: Path, part: str, message: str) -> None:
    """Where nothing can be played, that is said, and what to do: it is no incident without events."""
    path = tmp_path / "x.flyball"
    path.write_bytes(without(packed(store()), part))
    with pytest.raises(ReplayError, match=rf"{message}.*write it again"):
        capsule.read(path)


def test_a_capsule_of_which_one_host_has_rows_plays(tmp_path: Path) -> None:
    """What is there of the others is no reason to refuse it."""
    path = tmp_path / "x.flyball"
    path.write_bytes(without(packed(store()), "hosts/1/rows-"))
    contents = capsule.read(path)
    assert len(recording_of(contents.hosts, contents.find).ticks) == 120


def test_an_end_that_names_places_before_the_beginning_is_called_damage(tmp_path: Path) -> None:
    """The capsule is damaged, not the disk: the upper byte of where the archive's directory begins is flipped."""
    body = bytearray(packed(store()))
    body[-3] ^= 0xFF
    path = tmp_path / "x.flyball"
    path.write_bytes(body)
    with pytest.raises(ReplayError, match=r"damaged: .*write it again"):
        capsule.read(path)


def test_a_file_that_cannot_be_read_is_not_called_damaged(tmp_path: Path) -> None:
    """What the system says of a file is told as it is."""
    with pytest.raises(ReplayError, match="cannot be read: No such file"):
        capsule.read(tmp_path / "none.flyball")


def test_a_capsule_that_would_fill_memory_is_refused(tmp_path: Path) -> None:
    """What unpacking takes is bounded, whatever the archive says of its sizes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(2_000_000))
    path = tmp_path / "bomb.flyball"
    path.write_bytes(file.getvalue())
    with pytest.raises(ReplayError, match="in the capsule"):
        capsule.read(path, max_bytes=1_000_000)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_damage_anywhere_gives_one_clear_error(tmp_path: Path, data: st.DataObject) -> None:
    """Some bytes of a good capsule are overwritten: it is refused, or what is left of it plays."""
    body = bytearray(packed(store()))
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "damaged.flyball"
    path.write_bytes(body)
    with suppress(ReplayError):
        contents = capsule.read(path)
        recording_of(contents.hosts, contents.find)
