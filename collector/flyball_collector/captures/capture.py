"""One capture: what was ordered of which rank, its state, and its result."""

import re
from enum import StrEnum
from typing import Final

import msgspec

from flyball_collector.foreign_text import one_line

STACKS: Final = "stacks"
WHATS = (STACKS, "trace", "syncs", "memory", "measure")
DEFAULT_STEPS = {"trace": 3, "syncs": 10, "measure": 50}
FILE_NAMES = {
    STACKS: "stacks.txt",
    "trace": "trace.json.gz",
    "syncs": "syncs.json",
    "memory": "memory.json.gz",
    "measure": "evidence.yaml",
}

SECONDS = 120
"""Time limit of an order for an agent: a slow training needs minutes for some steps."""

STACKS_SECONDS = 30
MAX_STEPS = 1000
MAX_BYTES = 64 * 1024 * 1024

_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LONGEST_TEXT = 500


class CaptureState(StrEnum):
    """The progress of a capture."""

    ORDERED = "ordered"
    ACCEPTED = "accepted"
    RUNNING = "running"
    STORING = "storing"
    DONE = "done"
    FAILED = "failed"


class CaptureError(Exception):
    """Stored bytes are not a valid capture."""


class Capture(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A capture, as it is stored. Empty texts and zeros are unknown."""

    id: str
    what: str
    run: str
    rank: int | None  # `None`: the processes of the run have no known ranks
    host: str
    pid: int
    ordered_ns: int
    by: str = ""  # the name of the operator's token; empty without tokens, and for the collector's own orders
    condition: str = ""  # of the event that made the collector order it
    steps: int = 0
    seconds: int = SECONDS
    max_bytes: int = MAX_BYTES
    state: str = CaptureState.ORDERED
    detail: str = ""
    source: str = ""
    file_name: str = ""
    size_bytes: int = 0
    stored_bytes: int = 0
    sha256: str = ""
    ended_ns: int = 0

    @property
    def is_over(self) -> bool:
        """Return True if the capture is done or has failed."""
        return self.state in {CaptureState.DONE, CaptureState.FAILED}

    @property
    def document(self) -> str:
        """Return the id of its document. It begins with the host, so that it is removed with the host."""
        return f"{self.host}/{self.id}"


_decoder = msgspec.json.Decoder(Capture)


def decode_capture(body: bytes) -> Capture:
    """Parse a stored capture. Fields of later versions are ignored."""
    try:
        return _decoder.decode(body)
    except msgspec.MsgspecError as error:
        raise CaptureError(f"not a valid capture: {error}") from None


def clean_text(text: str) -> str:
    """Return text from a host or a process: printable and short."""
    return one_line(text, _LONGEST_TEXT)


def clean_file_name(name: str, what: str) -> str:
    """Return a file name that is safe everywhere."""
    return name if _FILE_NAME.fullmatch(name) else FILE_NAMES.get(what, "capture.bin")
