"""Captures in the store: one document for each capture, and one for each part of its result."""

from collections.abc import Iterator

import msgspec
import structlog
import zstandard

from flyball_collector.captures.capture import Capture, CaptureError, decode_capture
from flyball_collector.store.contract import Store, StoreError

_log = structlog.get_logger(__name__)

CAPTURE = "capture"
PART = "capture_part"

_PLAIN, _COMPRESSED = b"\0", b"\1"  # the first byte of a part
_LEVEL = 3
_FORGET_AT_ONCE = 500
_MAX_PART_BYTES = 1024 * 1024  # of a decompressed part


class CaptureArchive:
    """Every method blocks, so call it in a thread."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def load(self) -> list[Capture]:
        """Return all captures, the oldest first."""
        found = []
        for document in self._store.list_documents(CAPTURE):
            try:
                found.append(decode_capture(document.body))
            except CaptureError as error:
                _log.warning("capture_damaged", document=document.id, error=str(error))
        return sorted(found, key=lambda capture: (capture.ordered_ns, capture.id))

    def put(self, capture: Capture) -> int:
        """Write a capture's description. Return its revision."""
        return self._store.put_document(CAPTURE, capture.document, msgspec.json.encode(capture))

    def put_part(self, capture: Capture, offset: int, data: bytes) -> int:
        """Write a part of a result. Return its stored size."""
        packed = zstandard.compress(data, _LEVEL)
        body = _COMPRESSED + packed if len(packed) < len(data) else _PLAIN + data
        self._store.put_document(PART, _part(capture, offset), body)
        return len(body)

    def parts(self, capture: Capture) -> Iterator[bytes]:
        """Yield the result part by part, so that a long one takes little memory."""
        at = 0
        while at < capture.size_bytes:
            document = self._store.get_document(PART, _part(capture, at))
            if document is None:
                raise StoreError(f"capture {capture.id}: the part at byte {at} is missing in the store")
            data = _unpack(document.body, capture)
            if not data:
                raise StoreError(f"capture {capture.id}: the part at byte {at} is empty")
            at += len(data)
            yield data

    def delete(self, capture: Capture, *, keep_description: bool = False) -> int:
        """Delete a result, and with it the description. Return the number of its parts."""
        gone = 0
        prefix = f"{capture.document}/"
        while names := [
            (PART, each.id)
            for each in self._store.read_documents(PART, prefix, f"{capture.document}0", limit=_FORGET_AT_ONCE)
        ]:
            self._store.put_documents((), forget=names)
            gone += len(names)
        if not keep_description:
            self._store.delete_document(CAPTURE, capture.document)
        return gone


def _part(capture: Capture, offset: int) -> str:
    return f"{capture.document}/{offset:012}"


def _unpack(body: bytes, capture: Capture) -> bytes:
    if body[:1] != _COMPRESSED:
        return body[1:]
    try:
        return zstandard.decompress(body[1:], _MAX_PART_BYTES)
    except zstandard.ZstdError as error:
        raise StoreError(f"capture {capture.id} is damaged: {error}") from None
