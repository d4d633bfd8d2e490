"""Samples of refused records, in a ring of documents, for finding the cause."""

import base64

import msgspec

from flyball_collector.ingest.definitions import PutDocument

SLOTS = 128
_SAMPLE_BYTES = 4096
_EVERY_SECONDS = 1.0


class QuarantineSample(msgspec.Struct, frozen=True):
    """The body of a document of kind `quarantine`."""

    host: str
    epoch: str
    reason: str
    detail: str
    received_ns: int
    size_bytes: int
    base64: str  # of the first 4 KiB


class Quarantine:
    """Keeps at most one sample a second for each reason, in a ring of 128. All refusals are counted elsewhere."""

    def __init__(self, put_document: PutDocument) -> None:
        self._put_document = put_document
        self._slot = 0
        self._last: dict[str, float] = {}

    def sample(
        self, host: str, epoch: bytes, reason: str, detail: str, raw: bytes, received_ns: int, now: float
    ) -> None:
        """Store a sample, unless one with the same reason was stored within the last second."""
        if now - self._last.get(reason, -_EVERY_SECONDS) < _EVERY_SECONDS:
            return
        self._last[reason] = now
        encoded = base64.b64encode(raw[:_SAMPLE_BYTES]).decode()
        sample = QuarantineSample(host, epoch.hex(), reason, detail[:500], received_ns, len(raw), encoded)
        self._put_document("quarantine", f"{self._slot:03d}", msgspec.json.encode(sample))
        self._slot = (self._slot + 1) % SLOTS
