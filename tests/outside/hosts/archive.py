"""Whole hosts as text: each file `NAME.host` describes the `/proc` and `/sys` of one host.

text before the first entry is a comment
== proc/loadavg                         a file; its content follows, up to the next entry
== sys/class/net/eth{0..3}/             a folder of small files, one a line as `name: content`, four times;
                                        {n} in the content is the number of the repetition
== sys/class/hwmon/hwmon0/device -> ../../x   a symbolic link
== proc/stat (later)                    its content from the second reading on
== sys/x/energy_uj (denied)             a file that only root may read
== proc/meminfo (bytes)                 content with escapes such as \\xff
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_ENTRY = re.compile(r"^== (\S+)(?: -> (\S+))?(?: \((later|denied|bytes)\))?$")
_RANGE = re.compile(r"\{(\d+)\.\.(\d+)\}")


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a host, or a symbolic link if it has a target."""

    path: str
    content: bytes
    target: str = ""
    mode: str = ""


def entries(text: str) -> list[Entry]:
    """Return the files of a description. Raise `ValueError` for a line that begins with `==` but is not an entry."""
    found: list[Entry] = []
    head: re.Match[str] | None = None
    lines: list[str] = []
    for line in [*text.splitlines(), "== end"]:
        if not line.startswith("=="):
            lines.append(line)
            continue
        if head:
            found += expand(head, lines)
        head, lines = _ENTRY.match(line), []
        if head is None:
            raise ValueError(f"not an entry: {line}")
    return found


def expand(head: re.Match[str], lines: list[str]) -> Iterator[Entry]:
    """Yield the files of one entry: repeated for a range, and one for each line of a folder."""
    numbers = _RANGE.search(head[1])
    for number in range(int(numbers[1]), int(numbers[2]) + 1) if numbers else [None]:
        path = head[1] if number is None else _RANGE.sub(str(number), head[1])
        target = (head[2] or "").replace("{n}", str(number))
        content = [line if number is None else line.replace("{n}", str(number)) for line in lines]
        if not path.endswith("/"):
            yield Entry(path, _encoded(content, head[3]), target, head[3] or "")
            continue
        for line in content:
            if line:
                name, _, value = line.partition(": ")
                yield Entry(path + name, _encoded([value], head[3]), "", head[3] or "")


def _encoded(lines: list[str], mode: str | None) -> bytes:
    text = "".join(f"{line}\n" for line in lines)
    return text.encode().decode("unicode_escape").encode("latin-1") if mode == "bytes" else text.encode()


def write(root: Path, files: list[Entry], *, later: bool = False) -> None:
    """Write the files of a host: those of the first reading, or those that change afterwards."""
    for entry in files:
        if (entry.mode == "later") is later:
            path = root / entry.path
            path.parent.mkdir(parents=True, exist_ok=True)
            if entry.target:
                path.symlink_to(entry.target)
            else:
                path.write_bytes(entry.content)
                path.chmod(0o200 if entry.mode == "denied" else 0o644)
