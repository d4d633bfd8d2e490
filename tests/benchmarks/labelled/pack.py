"""A whole run of recordings as one archive, without names, so that rules can be tuned without recording again."""

import gzip
import io
import tarfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.benchmarks.labelled.episode import Recorded
from tests.benchmarks.labelled.record import anonymous


def pack(folder: Path, episodes: Sequence[Recorded], archive: Path) -> None:
    """Write an archive that `tar -xJf` unpacks into a folder for `--out`."""
    with tarfile.open(archive, "w:xz", preset=9) as tar:
        for recorded in episodes:
            _add(tar, f"{recorded.name}.json", msgspec.json.format(msgspec.json.encode(recorded)))
            _add(tar, f"{recorded.name}.spool", gzip.decompress(anonymous(folder / f"{recorded.name}.spool")))
        _add(tar, "seed", (folder / "seed").read_bytes())


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    about = tarfile.TarInfo(name)
    about.size = len(data)
    tar.addfile(about, io.BytesIO(data))
