"""Opening a capsule takes limited memory, however it was made; the error names the limit that it exceeds."""

import io
import json
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import numpy as np
import pytest

from flyball_collector.blocks.block import RowGroup
from flyball_collector.blocks.codec import encode
from flyball_collector.blocks.frame import seal, unseal
from flyball_collector.blocks.testing import SECOND_NS, START_NS
from flyball_collector.engine.settings import DiagnosisSettings
from flyball_collector.replay import capsule
from flyball_collector.replay.row_limits import MAX_READINGS
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import gauge
from flyball_proto.v1 import telemetry_pb2 as pb

MEMORY_BYTES = 1_100_000_000
"""What opening may take in all, with Python and NumPy. The largest capsule within the limits takes 0.93 GB."""
PARTS = 400
OPEN = """
import json, sys
from pathlib import Path
from flyball_collector.replay import capsule
from flyball_collector.replay.errors import ReplayError
from flyball_collector.replay.stored_series import recording_of
try:
    contents = capsule.read(Path(sys.argv[1]))
    found = str(len(recording_of(contents.hosts, contents.find).ticks))
except ReplayError as error:
    found = str(error)
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(json.dumps([found, int(status["VmHWM"].split()[0]) * 1024]))
"""


def layout(columns: int) -> Layout:
    return Layout(tuple(Column(gauge(f"m{number}_ratio", "ratio", "Test."), ()) for number in range(columns)))


def manifest(**changes: object) -> bytes:
    found = capsule.Capsule(
        format=capsule.FORMAT,
        version="0.1.0",
        agents={},
        written_ns=START_NS,
        start_ns=START_NS,
        end_ns=START_NS,
        hosts=("a",),
        event={},
        events=(),
        scores=(),
        settings=msgspec.to_builtins(DiagnosisSettings()),
    )
    return msgspec.json.encode(msgspec.structs.replace(found, **changes))


def part(of: Layout, rows: int, first: int = 0, extras: Mapping[int, bytes] | None = None) -> RowGroup:
    """Return rows that compress to almost nothing."""
    sequences = np.arange(first, first + rows)
    at = START_NS + sequences * SECOND_NS
    none = np.zeros(rows, np.uint64)
    values = np.zeros((rows, len(of.columns)), np.int64)
    return RowGroup(
        of.digest, sequences, at, at, at, at, none, none, values, values == 0, dict(extras) if extras else {}
    )


def small() -> dict[str, bytes]:
    """Return the files of a capsule with one minute."""
    of = layout(4)
    return {
        capsule.MANIFEST: manifest(),
        f"definitions/layout/{of.digest:016x}": of.body,
        "hosts/0/rows-0": encode([part(of, 60)]),
    }


def readings() -> dict[str, bytes]:
    """Parts that are within the limits each, and 2 billion readings together."""
    payload = encode([part(layout(1000), 5000)])
    return small() | {f"hosts/0/rows-{number:06}": payload for number in range(PARTS)}


def rows() -> dict[str, bytes]:
    """Rows that have no columns."""
    payload = encode([part(layout(0), 100_000)])
    return small() | {f"hosts/0/rows-{number:06}": payload for number in range(PARTS)}


def groups() -> dict[str, bytes]:
    """One part with more groups than a collector writes."""
    one = unseal(encode([part(layout(1), 1)]))[4:]
    return small() | {"hosts/0/rows-1": seal([struct.pack("<I", 100_000), one * 100_000])}


def extras() -> dict[str, bytes]:
    """Steps of one row that take a hundred times their size when they are parsed."""
    steps = pb.Record(steps=[pb.StepReport()]).SerializeToString() * 10_000_000
    return small() | {"hosts/0/rows-1": encode([part(layout(1), 1, extras={0: steps})])}


def many_extras() -> dict[str, bytes]:
    """Rows whose steps fill the memory together."""
    payload = encode([part(layout(1), 60, extras={number: bytes(1_000_000) for number in range(60)})])
    return small() | {f"hosts/0/rows-{number:06}": payload for number in range(PARTS)}


def nested() -> dict[str, bytes]:
    """A manifest with empty lists, which take twenty times their size when they are decoded."""
    return small() | {capsule.MANIFEST: manifest(event={"e": [[]] * 20_000_000})}


def inventory() -> dict[str, bytes]:
    """An inventory with empty disks."""
    return small() | {"hosts/0/inventory": pb.Inventory(disks=[pb.Disk()]).SerializeToString() * 30_000_000}


def wide_layout() -> dict[str, bytes]:
    """A layout with empty columns."""
    of = layout(4)
    body = pb.Layout(columns=[pb.Column()]).SerializeToString() * 2**25
    return small() | {f"definitions/layout/{of.digest:016x}": body}


def hosts() -> dict[str, bytes]:
    """A manifest with too many hosts."""
    return small() | {capsule.MANIFEST: manifest(hosts=("a",) * 100_000)}


BOMBS: Mapping[Callable[[], dict[str, bytes]], str] = {
    readings: "more than 50,000,000 readings",
    rows: "more than 500,000 rows",
    groups: "more than 20,000 groups of rows",
    extras: "more than 4,194,304 bytes of steps",
    many_extras: "more than 134,217,728 bytes of steps",
    nested: "more than 4,000,000 values in capsule.json",
    inventory: "more than 8,388,608 bytes of inventories",
    wide_layout: "more than 33,554,432 bytes of layouts",
    hosts: "100000 hosts in the capsule; the limit is 64",
}


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: bomb.__name__)
def test_a_small_capsule_cannot_fill_the_memory(tmp_path: Path, bomb: Callable[[], dict[str, bytes]]) -> None:
    """Less than 1.1 GB is used, and the message names the file and the limit."""
    path = packed(tmp_path, bomb())
    assert path.stat().st_size < 1_000_000
    found, used = opened(path)
    assert found.startswith(f"{path}: ")
    assert BOMBS[bomb] in found
    assert used < MEMORY_BYTES


def test_a_directory_with_too_many_files_is_refused(tmp_path: Path) -> None:
    """The list of files is limited before it is read."""
    path = tmp_path / "directory.flyball"
    content = packed(tmp_path, small()).read_bytes()[:-22]
    path.write_bytes(content + directory(300_000, len(content)))
    found, used = opened(path)
    assert "the list of files has 14,100,000 bytes; the limit is 8,388,608" in found
    assert used < 200e6


def test_a_capsule_at_the_limit_is_opened(tmp_path: Path) -> None:
    """The largest capsule that can be written is read again: 50 million readings and almost 500,000 rows."""
    of = layout(100)
    files = {
        capsule.MANIFEST: manifest(),
        f"definitions/layout/{of.digest:016x}": of.body,
        **{f"hosts/0/rows-{number:06}": encode([part(of, 5000, 5000 * number)]) for number in range(100)},
    }
    assert MAX_READINGS == 100 * 5000 * 100
    found, used = opened(packed(tmp_path, files))
    assert int(found) == 500_000
    assert used < MEMORY_BYTES


def packed(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Write an archive. Later files are the same as earlier ones, so that it is small on disk."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    path = folder / "x.flyball"
    path.write_bytes(file.getvalue())
    return path


def directory(entries: int, offset: int) -> bytes:
    """Return a list of empty files and the archive's end."""
    one = struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, 20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"x"
    return one * entries + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0, 0, len(one) * entries, offset, 0)


def opened(path: Path) -> tuple[str, int]:
    """Open a capsule in a new process. Return the rows or the error, and the most memory that was used."""
    run = subprocess.run([sys.executable, "-c", OPEN, str(path)], check=True, capture_output=True, timeout=300)
    found, used = json.loads(run.stdout)
    return str(found), int(used)
