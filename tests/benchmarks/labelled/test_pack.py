"""Packed recordings can be unpacked and diagnosed again, and name nobody."""

import gzip
import shutil
import tarfile
from pathlib import Path

import msgspec

from tests.benchmarks.labelled.campaign import read_recorded
from tests.benchmarks.labelled.pack import pack
from tests.benchmarks.labelled.record import without_reports
from tests.benchmarks.labelled.verdict import diagnose

KEPT = Path(__file__).with_name("recorded")
NAME = "0021-spinners"


def test_what_is_packed_can_be_diagnosed_again(tmp_path: Path) -> None:
    """Both recordings of an episode, its label, and the seed of the run; twice packed is the same."""
    folder, unpacked = tmp_path / "run", tmp_path / "again"
    folder.mkdir()
    shutil.copy(KEPT / f"{NAME}.json", folder)
    spool = folder / f"{NAME}.spool"
    for path in (spool, without_reports(spool)):
        path.write_bytes(gzip.decompress((KEPT / f"{NAME}.spool.gz").read_bytes()))
    (folder / "seed").write_text("42\n")
    pack(folder, read_recorded(folder), tmp_path / "kept.tar.xz")
    with tarfile.open(tmp_path / "kept.tar.xz") as archive:
        archive.extractall(unpacked, filter="data")
    assert sorted(path.name for path in unpacked.iterdir()) == [
        f"{NAME}.json", f"{NAME}.none.spool", f"{NAME}.spool", "seed",
    ]  # fmt: skip
    (recorded,) = read_recorded(unpacked)
    assert msgspec.json.encode(recorded) == msgspec.json.encode(read_recorded(folder)[0])
    assert diagnose(recorded, unpacked / f"{NAME}.spool").primary == "bottleneck_cpu"
    pack(unpacked, read_recorded(unpacked), tmp_path / "twice.tar.xz")
    assert (tmp_path / "twice.tar.xz").read_bytes() == (tmp_path / "kept.tar.xz").read_bytes()
