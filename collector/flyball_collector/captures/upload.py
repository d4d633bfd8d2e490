"""The parts of one result as they arrive: each must follow the one before, within what was announced and ordered."""

import hashlib

from flyball_proto.v1 import telemetry_pb2 as pb

MAX_PART_BYTES = 192 * 1024
MIN_PART_BYTES = 16 * 1024
"""Of all parts but the last."""


class Upload:
    """A result that arrives. At most one part waits to be written."""

    def __init__(self, max_bytes: int) -> None:
        self.offset = 0  # everything below is stored
        self.stored_bytes = 0
        self.size: int | None = None
        self.writing = False
        self._max_bytes = max_bytes
        self._announced = b""  # the digest
        self._digest = hashlib.sha256()

    def fault(self, part: pb.Captured) -> str:
        """Return why a part cannot be taken; empty if it can."""
        if part.size_bytes > self._max_bytes:
            return f"the agent announced {part.size_bytes:,} bytes; the limit is {self._max_bytes:,}"
        if self.size is not None and (part.size_bytes, part.sha256) != (self.size, self._announced):
            return "the agent changed the result during its transfer"
        if part.offset != self.offset:
            return f"the agent sent byte {part.offset:,} instead of {self.offset:,}"
        if len(part.data) > MAX_PART_BYTES or self.offset + len(part.data) > part.size_bytes:
            return "the agent sent more than it announced"
        if len(part.data) < MIN_PART_BYTES and self.offset + len(part.data) < part.size_bytes:
            return "the agent sent a part that is too short"  # each costs a call to the store
        return ""

    def begin(self, part: pb.Captured) -> None:
        """Take a part, which is about to be written."""
        self.size, self._announced, self.writing = part.size_bytes, part.sha256, True
        self._digest.update(part.data)

    def written(self, length: int, stored_bytes: int) -> None:
        """Note that a part is stored."""
        self.writing = False
        self.offset += length
        self.stored_bytes += stored_bytes

    @property
    def is_complete(self) -> bool:
        """Return True if the whole result is stored."""
        return self.size is not None and self.offset >= self.size

    @property
    def is_intact(self) -> bool:
        """Return True if the result has the digest that the agent announced."""
        return self._digest.digest() == self._announced

    @property
    def digest(self) -> str:
        """Return the digest in hexadecimal."""
        return self._digest.hexdigest()

    def words(self) -> str:
        """Return how much of the result has arrived."""
        return f"{self.offset / 1e6:.1f} of {(self.size or 0) / 1e6:.1f} MB"
