"""The form that nearly all specifications have, read without PyYAML: keys by indentation, words, numbers, flat lists.

Importing PyYAML compiles expressions for all of YAML, which takes longer than a small plan. What is not surely of this
form, faults included, is left to it; what is, reads as it would (which a property test holds).
"""

from collections.abc import Iterator, Sequence

from flyball_reports.specification.entry import Entry, Scalar

MOST_CHARACTERS = 20_000
MOST_NESTED = 10
LONGEST_WORD = 200

Line = tuple[int, int, str, str]
"""Its number and indentation, a key, and what stands behind it."""

HARMLESS = frozenset(" _.+-/()%×")
"""What, as letters and digits, means nothing to YAML within a word that begins with one of these."""
MEANT: dict[str, bool | None] = {
    spelled: meant
    for words, meant in ((("yes", "true", "on"), True), (("no", "false", "off"), False), (("null",), None))
    for word in words
    for spelled in (word, word.capitalize(), word.upper())
}
"""Words that are more than words in YAML 1.1."""


class _Other(Exception):
    """The text may have another form."""


def read_plain(text: str) -> Entry | None:
    """The outermost group of keys of a text; nothing where it may have another form."""
    if len(text) > MOST_CHARACTERS:
        return None
    try:
        return _grouped([*_lines(text)])
    except _Other:
        return None


def _lines(text: str) -> Iterator[Line]:
    for number, line in enumerate(text.split("\n"), 1):
        content = line.lstrip(" ")
        if not line.isprintable():  # tabs, other ends of lines, what YAML refuses
            raise _Other
        if not content or content.startswith("#"):
            continue
        key, colon, behind = content.partition(" #")[0].rstrip(" ").partition(":")
        if not (colon and key.isascii() and key.isidentifier() and len(key) <= LONGEST_WORD):
            raise _Other
        if behind and not behind.startswith(" "):
            raise _Other
        yield number, len(line) - len(content), key, behind.strip(" ")


def _grouped(lines: Sequence[Line]) -> Entry:
    """Lines as the groups that their indentation makes."""
    groups: list[tuple[int, dict[str, Entry]]] = [(0, {})]
    for place, (line, indent, key, value) in enumerate(lines):
        own, group = groups[-1]
        if indent != own or key in group:
            raise _Other
        after = lines[place + 1][1] if place + 1 < len(lines) else 0
        if after > indent:
            if value or len(groups) == MOST_NESTED:
                raise _Other
            groups.append((after, {}))
        group[key] = Entry(groups[-1][1], line) if after > indent else _entry(value, line)
        while groups[-1][0] > after:
            groups.pop()
    if not lines:
        raise _Other
    return Entry(groups[0][1], lines[0][0])


def _entry(text: str, line: int) -> Entry:
    if text.startswith("[") and text.endswith("]"):
        return Entry([Entry(_scalar(each.strip(" ")), line) for each in text[1:-1].split(",")], line)
    return Entry(_scalar(text) if text else None, line)


def _scalar(word: str) -> Scalar:
    """What YAML 1.1 reads a word as."""
    if (
        len(word) > LONGEST_WORD
        or not word[:1].isalnum()
        or not all(each.isalnum() or each in HARMLESS for each in word)
    ):
        raise _Other
    if word in MEANT:
        return MEANT[word]
    if not (word[0].isdigit() and word.isascii()):
        return word
    figures = word.replace("_", "")
    if word[0] == "0" and word[1:2] not in {"", "."}:  # octal, binary and hexadecimal numbers
        raise _Other
    if figures.isdigit():
        return int(figures)
    if "." in word and "e" in word.lower():  # YAML asks for the exponent's sign
        raise _Other
    return float(figures) if figures.replace(".", "", 1).isdigit() else word
