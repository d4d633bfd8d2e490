"""Reads the files of a capsule's archive one at a time. A capsule may come from anyone, so all of it is limited.

Only archives as `capsule.write` writes them are opened: no comment, no ZIP64, only stored and deflated files. The sizes
that the archive claims are not trusted.
"""

import struct
import zipfile
from typing import BinaryIO

from flyball_collector.replay.errors import ReplayError

MAX_DIRECTORY_BYTES = 8 * 1024 * 1024
"""Maximum size of the archive's list of files, enough for 120,000. Each takes 0.7 KB of memory when it is opened."""
MAX_MANIFEST_BYTES = 64 * 1024 * 1024
MAX_MANIFEST_VALUES = 4_000_000
"""A JSON value takes up to 72 bytes of memory. 10,000 events and the scores of 64 hosts have about a million values."""
MAX_LAYOUT_BYTES = 32 * 1024 * 1024
"""Enough for 64 hosts with the most columns that the collector accepts by default. Parsed, a message takes 20 times."""
MAX_DETAIL_BYTES = 8 * 1024 * 1024
"""Of all inventories, and of all unavailable readings and tenancies. Parsed, they take up to 60 times their size."""

_END = struct.Struct("<4s4H2LH")  # signature, four counts, size and offset of the directory, length of the comment
_END_SIGNATURE, _LOCATOR_SIGNATURE = b"PK\x05\x06", b"PK\x06\x07"
_LOCATOR_BYTES = 20
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})


class ByteLimit:
    """Bytes of one kind that may still be unpacked."""

    def __init__(self, limit: int, what: str) -> None:
        self.limit = self.left = limit
        self.what = what


class CapsuleArchive:
    """An open archive. `names` has each file once, in sorted order."""

    def __init__(self, file: BinaryIO, place: str, max_bytes: int) -> None:
        self._place = place
        self._all = ByteLimit(max_bytes, "bytes")
        _check_end(file)
        self._archive = zipfile.ZipFile(file)
        self.names = sorted(set(self._archive.namelist()))

    def read(self, name: str, limit: ByteLimit | None = None) -> bytes:
        """Return a file's content. Raise `ReplayError` beyond the limit of its kind or of the whole capsule."""
        entry = self._archive.getinfo(name)
        if entry.compress_type not in _METHODS:
            raise zipfile.BadZipFile(f"{name} is compressed with method {entry.compress_type}")
        limits = [self._all, *([limit] if limit is not None else [])]
        with self._archive.open(entry) as file:
            body = file.read(min(each.left for each in limits) + 1)
        for each in limits:
            each.left -= len(body)
            if each.left < 0:
                raise ReplayError(f"{self._place}: more than {each.limit:,} {each.what} in the capsule")
        return body


def json_values(body: bytes) -> int:
    """Return an upper limit of the number of values in a JSON text, without decoding it."""
    return 1 + body.count(b",") + body.count(b"[") + body.count(b"{")


def _check_end(file: BinaryIO) -> None:
    """Raise `BadZipFile` unless the archive ends like a capsule, with a directory of limited size."""
    length = file.seek(0, 2)
    file.seek(max(0, length - _END.size - _LOCATOR_BYTES))
    end = file.read()
    if len(end) < _END.size or end[-_END.size :][:4] != _END_SIGNATURE:
        raise zipfile.BadZipFile("the end of the archive is missing")
    *_, size, offset, comment = _END.unpack(end[-_END.size :])
    if comment or end.startswith(_LOCATOR_SIGNATURE) or offset + size != length - _END.size:
        raise zipfile.BadZipFile("the archive was not written by Flyball")
    if size > MAX_DIRECTORY_BYTES:
        raise zipfile.BadZipFile(f"the list of files has {size:,} bytes; the limit is {MAX_DIRECTORY_BYTES:,}")
