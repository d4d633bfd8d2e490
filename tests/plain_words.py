"""Find words that the project does not use, and print what to write instead.

`python -m tests.plain_words [PATH…]` is a part of `make check`. It reads names, strings, docstrings and comments alike:
`still_standing` and `stillStanding` are checked as "still standing". The inside of the audit waits for its redesign.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

SUFFIXES = {".c", ".css", ".html", ".js", ".md", ".proto", ".py", ".service", ".sh", ".toml", ".yaml", ".yml", ""}

LEFT_OUT = (
    "LICENSE",
    "audit/",
    "constraints",
    "tests/audit/",
    "tests/benchmarks/audit_judged/",  # scripts of others
    "tests/plain_words.py",
    "tests/test_plain_words.py",
)

MUTED_NOTIFICATIONS = (
    "silence",
    "notif",
    "docs/",
    "README.md",
    "CHANGELOG.md",
    "tests/client/",
    "client/flyball/command/",
)
"""A silence is a muted notification, as in Alertmanager. Only files with these in their path may use the word."""


@dataclass(frozen=True, slots=True)
class Word:
    """A pattern that must not occur, and what to write instead."""

    pattern: str
    instead: str
    except_in: tuple[str, ...] = ()  # parts of paths

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        """Yield every place where the pattern occurs as whole words."""
        return re.finditer(rf"\b(?:{self.pattern})\b", text, re.IGNORECASE)


WORDS = (
    Word("tells?|told|telling|retold|untold", "report, emit, list, show, mean"),
    Word("says?|said|saying|speaks?|spoke|spoken|speaking", "report, emit, list, state, mean"),
    Word("stands?|stood|standing", "is, is active, remains"),
    Word("lately", "recently"),
    Word("silent", "not reporting; for a reading: unavailable"),
    Word("silences?|silenced|silencing", "unavailable reading", MUTED_NOTIFICATIONS),
    Word("not read|never read", "unavailable"),
    Word("handed|hands (?:it|them|over|on)", "pass, passed"),
    Word("anew", "again"),
    Word(r"(?:a|an|each|every|the|one|per|this|last|first|next|its|of|same|many|few|\d+) turns?", "iteration, step"),
    Word("doubts?|doubted|doubtful", "downgrade reason; uncertain"),
    Word(r"bound(?:ed)? by|bounds (?:it|them|a|an|the|each|every|what)", "limited by, limits"),
    Word("plain shares", "utilisation"),
    Word("apart", "helper process, worker process; separate"),
    Word("seldom|seldomly", "rarely"),
    Word("mend|mends|mended|mending", "fix"),
    Word("dear|dearer|dearest", "expensive"),
    Word("besides|thereby|therein|thereof|whence|hitherto|heretofore|albeit", "also; by this; before"),
    Word(
        r"(?<!there )(?:is|are|was|were) no(?! (?:longer|more|less|such|fewer|later|smaller|larger|better|worse)\b)",
        "is not a",
    ),
    Word("nobody knows|as it were|as good as|all the same|so to speak|come what may", "(an idiom)"),
    Word("whoever|whosoever|whatsoever", "anyone who; the caller"),
    Word(r"with one voice|a room each|in peace", "(a figure of speech)"),
)

ALLOWED = (
    r"\.tell\(", r"\bdef tell\(self\) -> int",  # a file's position
    r"\bstand-?(?:in|by|alone|ard)s?\b", r"\bstandin\b", "stand in library", "long-?standing", "outstanding",
    r"\bspeaks? (?:TLS|HTTP|HTTPS|gRPC|plain HTTP)\b",
    r"\bbound_by\b",  # a key of plans in JSON
    r"\bin turn\b", r"\bturns? (?:on|off|into|out|around)\b",
    r"\bNotwithstanding\b",
)  # fmt: skip
"""Phrases that may occur although a word of theirs may not."""

OPENINGS = ("Whether", "What", "Who", "How", "Where", "When", "Which", "That")
"""Docstrings begin with a verb or a noun, not with a question or a clause."""


@dataclass(frozen=True, slots=True, order=True)
class Hit:
    """One place that has to be rewritten."""

    path: str
    line: int
    found: str
    instead: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.found!r}: write {self.instead}"


def words_of(line: str) -> str:
    """Return a line with its names split into words, and without the phrases that are allowed.

    >>> words_of("self._stillStanding = is_told(x)")
    'self. still Standing = is told(x)'
    """
    for phrase in ALLOWED:
        line = re.sub(phrase, " ", line, flags=re.IGNORECASE)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", line.replace("_", " "))


def hits(path: str, text: str) -> Iterator[Hit]:
    """Yield every banned word of a file, and every docstring of Python with a banned opening."""
    words = [word for word in WORDS if not any(part in path for part in word.except_in)]
    for number, line in enumerate(text.splitlines(), 1):
        plain = words_of(line)
        for word in words:
            yield from (Hit(path, number, match[0], word.instead) for match in word.matches(plain))
    if path.endswith(".py"):
        yield from _openings(path, text)


def _openings(path: str, text: str) -> Iterator[Hit]:
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        first = (ast.get_docstring(node) or "").partition(" ")[0]
        if first in OPENINGS:
            yield Hit(path, node.body[0].lineno, f'"""{first} …', "a docstring that begins with a verb")


def files(paths: Sequence[str]) -> Iterable[str]:
    """List the project's own text files below some paths, or all of them."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", *paths]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return sorted(
        name for name in listed
        if name and not name.startswith(LEFT_OUT) and "_pb2" not in name and Path(name).suffix in SUFFIXES
        and (ROOT / name).is_file()
    )  # fmt: skip


def main(paths: Sequence[str]) -> int:
    """Print every hit; return 1 if there is one."""
    found: list[Hit] = []
    for name in files(paths):
        try:
            found += hits(name, (ROOT / name).read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            continue  # not text
    for hit in sorted(found):
        print(hit)
    print(f"plain words: {len(found)} to rewrite" if found else "plain words: all fine")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
