"""The files of a process in `/proc`: its command, start time and user."""

import re
from dataclasses import dataclass

from flyball_agent.runs.environment import clean

_MAX_COMMAND = 256
_SECRET = re.compile(r"(pass(word|wd)?|token|secret|api[-_]?key|credential)s?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ProcessFiles:
    """The content of files of `/proc/<pid>`. None: permission denied."""

    environ: bytes | None = None
    cgroup: bytes = b""
    cmdline: bytes = b""
    status: bytes = b""
    stat: bytes = b""


def parse_command(cmdline: bytes, stat: bytes) -> str:
    """Return the command line on one short line, with the values of options that look secret replaced by ***.

    Without a command line it is the short name of the process.
    """
    words: list[str] = []
    hide_next = False
    for word in cmdline.rstrip(b"\0").split(b"\0")[:64]:
        text = clean(word, _MAX_COMMAND)
        name, equals, _ = text.partition("=")
        secret = name.startswith("-") and _SECRET.search(name) is not None
        words.append("***" if hide_next else f"{name}=***" if secret and equals else text)
        hide_next = secret and not equals
    command = " ".join(word for word in words if word)[:_MAX_COMMAND]
    return command or clean(stat[stat.find(b"(") + 1 : stat.rfind(b")")], _MAX_COMMAND)


def parse_start_ticks(stat: bytes) -> int | None:
    """Parse the start time in clock ticks since boot: field 22. The process name before it may contain anything."""
    fields = stat[stat.rfind(b")") + 1 :].split()
    return int(fields[19]) if len(fields) > 19 and fields[19].isdigit() else None


def parse_uid(status: bytes) -> int | None:
    """Parse the real user id of the process."""
    for line in status.splitlines():
        if line.startswith(b"Uid:"):
            fields = line.split()
            return int(fields[1]) if len(fields) > 1 and fields[1].isdigit() else None
    return None
