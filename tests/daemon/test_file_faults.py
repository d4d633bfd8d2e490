"""Messages about files."""

import errno
import os

import pytest

from flyball_daemon import file_faults
from flyball_reports import errors


@pytest.mark.parametrize(
    ("number", "reading", "writing"),
    [
        (errno.ENOENT, "there is no file a/b", "cannot write a/b: there is no folder a; create it, or name another"),
        (errno.EISDIR, "a/b is a folder; name a file", "a/b is a folder; name a file"),
        (
            errno.EACCES,
            "cannot read a/b: no read permission. Run as root or change its mode",
            "cannot write a/b: no write permission. Run as root, or change the mode of its folder",
        ),
        (errno.ENOSPC, "cannot read a/b: No space left on device", "cannot write a/b: No space left on device"),
    ],
)
def test_a_message_names_file_cause_and_remedy(number: int, reading: str, writing: str) -> None:
    """The daemons and the commands use the same words."""
    error = OSError(number, os.strerror(number))
    assert file_faults.read_fault("a/b", error) == errors.read_fault("a/b", error) == reading
    assert file_faults.write_fault("a/b", error) == errors.write_fault("a/b", error) == writing
