"""Patterns of many words, looked for one alternative after the other: a text that each match holds rules most out."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

PATTERNS_KEPT = 512
"""More than all rules have."""

SHORTEST = 2
"""Letters that rule anything out: a single one stands in every file."""

_UNLIKE_THEIR_TEXT = re.IGNORECASE | re.VERBOSE
_ODD = re.compile(r"\\[0-9xuUN]")
"""References, and letters by number: alternatives with them are not taken apart."""

_ZERO_WIDTH = frozenset("bBAZ")
_BREAKING = frozenset(".^$")


def stands_in(words: re.Pattern[str], text: str) -> bool:
    """Whether a pattern is found in a text; the same as searching for it, several times quicker where it is not."""
    for part, each in _alternatives(words):  # noqa: SIM110  a generator for `any` takes as long again
        if part in text and each.search(text):
            return True
    return False


def holds_any(text: str, vocabulary: str, words: Iterable[str]) -> bool:
    """Whether one of some texts stands in another, whose vocabulary tells of all that are made of letters alone."""
    for each in words:  # noqa: SIM110  a generator for `any` takes as long again
        if each in (vocabulary if each.isascii() and each.isidentifier() else text):
            return True
    return False


def vocabulary(text: str) -> str:
    """Each word of a text once: a fraction of it, which is gone through more than a hundred times for the rules."""
    words = set(text.encode(errors="surrogatepass").translate(_ALL_BUT_WORDS_BLANK).split())
    return b" ".join(words).decode(errors="surrogatepass")


_ALL_BUT_WORDS_BLANK = bytes(
    each if each >= 0x80 or chr(each).isalnum() or chr(each) == "_" else ord(" ") for each in range(256)
)


@lru_cache(PATTERNS_KEPT)
def _alternatives(words: re.Pattern[str]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Each alternative, with a text that all of its matches hold; the longest such texts rule most out."""
    if words.flags & _UNLIKE_THEIR_TEXT or words.groupindex or _ODD.search(words.pattern):
        return (("", words),)
    parts = _split(words.pattern)
    return tuple((held_by_matches(each), re.compile(each, words.flags)) for each in parts)


def held_by_matches(pattern: str) -> str:
    """The longest run of letters in a pattern without alternatives: each match holds it. Empty if all are short."""
    runs, run = [], ""
    for atom in _atoms(pattern):
        if atom in {"?", "*"} or (atom[0] == "{" and len(atom) > 1):
            runs.append(run[:-1])  # what comes before may not be there
            run = ""
        elif len(atom) == 1 and atom not in _BREAKING and atom != "+":
            run += atom
        elif len(atom) == 2 and atom[0] == "\\" and not atom[1].isalnum():
            run += atom[1]
        elif not (len(atom) == 2 and atom[1] in _ZERO_WIDTH):
            runs.append(run)
            run = ""
    longest = max((*runs, run), key=len)
    return longest if len(longest) >= SHORTEST else ""


def _split(pattern: str) -> list[str]:
    """The alternatives of a pattern that stand in no group."""
    parts = [""]
    for atom in _atoms(pattern):
        if atom == "|":
            parts.append("")
        else:
            parts[-1] += atom
    return parts


def _atoms(pattern: str) -> Iterator[str]:
    """Letters, escapes, classes, counts and groups of a pattern, each whole."""
    start = 0
    while start < len(pattern):
        end = _end(pattern, start)
        yield pattern[start:end]
        start = end


def _end(pattern: str, start: int) -> int:
    """Where the atom ends that begins somewhere."""
    first = pattern[start]
    if first == "\\":
        return start + 2
    if first == "[":
        end = start + 2 + (pattern[start + 1] == "^")  # a bracket in the first place is a letter of the class
        while pattern[end] != "]":
            end += 2 if pattern[end] == "\\" else 1
        return end + 1
    if first == "{" and "}" in pattern[start:]:
        return pattern.index("}", start) + 1
    if first != "(":
        return start + 1
    end = start + 1
    while pattern[end] != ")":
        end = _end(pattern, end)
    return end + 1
