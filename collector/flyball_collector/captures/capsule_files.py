"""The files of an event's captures for its capsule."""

from collections.abc import Iterator, Sequence

from flyball_collector.captures.archive import CaptureArchive
from flyball_collector.captures.capture import Capture, CaptureState

MAX_CAPSULE_BYTES = 64 * 1024 * 1024
"""Of all captures in one capsule, which is built in memory. Beyond it the larger ones are left out."""


def capsule_files(archive: CaptureArchive, captures: Sequence[Capture]) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents, the smallest first. It reads the store while it is iterated."""
    left = MAX_CAPSULE_BYTES
    for capture in sorted(captures, key=lambda each: (each.size_bytes, each.rank or 0)):
        left -= capture.size_bytes
        if capture.state == CaptureState.DONE and left >= 0:
            rank = "" if capture.rank is None else f"rank{capture.rank}-"
            yield f"{rank}{capture.id}-{capture.file_name}", b"".join(archive.parts(capture))
