"""Recordings as one archive, without names, so that rules can be tuned without recording again."""

import gzip
import io
import tarfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.benchmarks.labelled.episode import Recorded
from tests.benchmarks.labelled.record import anonymous, without_reports


def pack(folder: Path, episodes: Sequence[Recorded], archive: Path) -> None:
    """Write an archive, which `tar -xJf` unpacks into a folder for `--out`."""
    with tarfile.open(archive, "w:xz", preset=9) as tar:
        for recorded in episodes:
            _add(tar, f"{recorded.name}.json", msgspec.json.format(msgspec.json.encode(recorded)))
            spool = folder / f"{recorded.name}.spool"
            for path in (spool, without_reports(spool)):
                if path.exists():
                    _add(tar, path.name, gzip.decompress(anonymous(path)))
        _add(tar, "seed", (folder / "seed").read_bytes())


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    about = tarfile.TarInfo(name)
    about.size = len(data)
    tar.addfile(about, io.BytesIO(data))
