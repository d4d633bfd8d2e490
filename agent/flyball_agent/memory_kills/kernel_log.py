"""Reads the messages of the kernel's log that are new since the last reading, from `/dev/kmsg`."""

import errno
import os
import re
from pathlib import Path

from flyball_agent.probes.files import unavailable

RECORD_BYTES = 8192
"""The kernel writes no longer record (CONSOLE_EXT_LOG_MAX in kernel/printk)."""

MOST_RECORDS = 4096
"""Limit of one reading: a log that fills faster than it is read must not hold up the tick."""

FACILITIES = 8
"""The number before a record is facility × 8 + level. Facility 0 is the kernel; programs can write the others."""

REMEDY = "give the agent CAP_SYSLOG and read permission for /dev/kmsg, or set kernel.dmesg_restrict to 0"

_ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")


def parse_record(record: bytes) -> str | None:
    """Return the message of a record such as `6,1234,5678901,-;text`; None if the kernel did not write it."""
    head, found, rest = record.partition(b";")
    number = head.partition(b",")[0]
    if not found or not number.isdigit() or int(number) >= FACILITIES:
        return None
    line = _ESCAPED.sub(lambda match: bytes([int(match[1], 16)]), rest.partition(b"\n")[0])
    return line.decode("utf-8", "replace")


class KernelLog:
    """The kernel's log from the first reading on. A message before it belongs to an earlier life of the agent."""

    def __init__(self, path: Path = Path("/dev/kmsg")) -> None:
        self._path = path
        self._descriptor = -1

    def messages(self) -> list[str]:
        """Return the new messages. Raise `Unavailable` with the reason if the log cannot be read."""
        try:
            if self._descriptor < 0:
                self._open()
            return self._new()
        except OSError as error:
            self.close()
            raise unavailable(self._path, error, denied_remedy=REMEDY) from None

    def _open(self) -> None:
        self._descriptor = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        os.lseek(self._descriptor, 0, os.SEEK_END)

    def _new(self) -> list[str]:
        found: list[str] = []
        for _ in range(MOST_RECORDS):
            try:
                record = os.read(self._descriptor, RECORD_BYTES)
            except BlockingIOError:
                break
            except BrokenPipeError:  # the kernel has overwritten the next record; the one after it follows
                continue
            except OSError as error:
                if error.errno != errno.EINVAL:  # a record longer than the buffer
                    raise
                continue
            if not record:  # a plain file, as in tests
                break
            message = parse_record(record)
            if message is not None:
                found.append(message)
        return found

    def close(self) -> None:
        """Close the log. The next reading opens it again, at its end."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        self.close()
