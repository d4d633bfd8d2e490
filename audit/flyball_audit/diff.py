"""Unified diffs that `patch` and `git apply` take, also of long files with a small change."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import PurePath

from flyball_audit.edits import split_lines

CONTEXT_LINES = 3  # what `diff -u` shows
Hunk = list[tuple[str, int, int, int, int]]


@dataclass(frozen=True)
class Replaced:
    """Whole lines, counted from 1, that make room for a text; the last is not one of them."""

    first_line: int
    end_line: int
    text: str


def replaced(before: str, after: str) -> Replaced:
    """What changes, from the first to the last line of it."""
    old, new = split_lines(before), split_lines(after)
    same = _common(old, new)
    behind = _common(old[same:][::-1], new[same:][::-1])
    return Replaced(same + 1, len(old) - behind + 1, "".join(new[same : len(new) - behind]))


def unified_diff(path: str, before: str, after: str) -> str:
    """The difference between two texts of a file; nothing, if there is none."""
    if before == after:
        return ""
    old, new = split_lines(before), split_lines(after)
    same = _common(old, new)
    behind = _common(old[same:][::-1], new[same:][::-1])
    first = max(0, same - CONTEXT_LINES)  # comparing all lines of a long file takes seconds
    last_old, last_new = (len(each) - max(0, behind - CONTEXT_LINES) for each in (old, new))
    matcher = SequenceMatcher(None, old[first:last_old], new[first:last_new], autojunk=False)
    a, b = _names(path)
    lines = [f"--- {a}\n", f"+++ {b}\n"]
    for hunk in matcher.get_grouped_opcodes(CONTEXT_LINES):
        lines += _hunk(hunk, old[first:last_old], new[first:last_new], first)
    return "".join(lines)


def _names(path: str) -> tuple[str, str]:
    """As git writes them; a path from the root cannot stand behind a/."""
    told = PurePath(path).as_posix()
    return (told, told) if told.startswith("/") else (f"a/{told}", f"b/{told}")


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    """How many lines two texts share at their beginning."""
    for number, (one, other) in enumerate(zip(a, b, strict=False)):
        if one != other:
            return number
    return min(len(a), len(b))


def _hunk(hunk: Hunk, old: Sequence[str], new: Sequence[str], skipped: int) -> Iterator[str]:
    start, end = hunk[0], hunk[-1]
    yield f"@@ -{_range(start[1], end[2], skipped)} +{_range(start[3], end[4], skipped)} @@\n"
    for kind, old_first, old_last, new_first, new_last in hunk:
        if kind == "equal":
            yield from (_line(" ", line) for line in old[old_first:old_last])
            continue
        yield from (_line("-", line) for line in old[old_first:old_last])
        yield from (_line("+", line) for line in new[new_first:new_last])


def _range(first: int, last: int, skipped: int) -> str:
    """Lines count from 1; an empty range names the line before it."""
    begin, length = first + skipped + 1, last - first
    return f"{begin - 1},0" if not length else f"{begin}" if length == 1 else f"{begin},{length}"


def _line(mark: str, line: str) -> str:
    return f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"
