"""Which files may know each other, by the words of their imports: what knows nothing of the rest is audited apart.

A part's trees are let go before the next part is parsed, and several parts can be audited side by side.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from flyball_audit.source import Source

PART_CHARACTERS = 50_000
"""Text that is audited together, if no group of files is longer: ten trainers, whose trees a processor's cache holds.

All of it took 8 % longer in parts of 250,000 characters, and 13 % in parts of 10,000."""

_SPACE = r"(?:[ \t\f]|\\\n)*"
_IMPORT = re.compile(rf"import(?<=\bimport)\b(?P<names>(?:{_SPACE}[\w.,]+)*)")
_FROM = re.compile(rf"\bfrom{_SPACE}(?P<dots>(?:\.{_SPACE})*)(?P<name>[\w.]*){_SPACE}\Z")

LONGEST_FROM = 300
"""Characters before an `import` in which its `from` is looked for."""

_ASSUMED = ("torch", "numpy")
"""What files may use that import it nowhere."""


def independent(sources: Sequence[Source], dotted: Mapping[str, str]) -> list[list[Source]]:
    """The files in parts, none of which holds what a file of another may import; short ones are put together."""
    groups = _Groups(dotted.values())
    for source in sources:
        groups.join(dotted[source.path], source.text)
    together: dict[str, list[Source]] = defaultdict(list)
    for source in sources:
        together[groups.of(dotted[source.path])].append(source)
    parts: list[list[Source]] = []
    room = 0
    for group in together.values():
        size = sum(len(each.text) for each in group)
        if size > room or not parts:
            parts.append([])
            room = PART_CHARACTERS
        parts[-1] += group
        room -= size
    return parts


class _Groups:
    """Names of files; each leads to another of its group, and in the end to the one that stands for the group."""

    def __init__(self, names: Iterable[str]) -> None:
        self._leads_to = {each: each for each in names}
        self._below: dict[str, list[str]] = defaultdict(list)
        self._within: dict[str, list[str]] = defaultdict(list)
        for name in self._leads_to:
            for above in _prefixes(name):
                self._below[above].append(name)
            for part in name.split(".")[1:-1]:
                self._within[part].append(name)

    def of(self, name: str) -> str:
        """The name that stands for a name's group."""
        while (other := self._leads_to[name]) != name:
            self._leads_to[name] = name = self._leads_to[other]
        return name

    def join(self, name: str, text: str) -> None:
        """Join a file with the files that its imports may mean, and a package with what lies in it.

        An import is looked for in the folders above the file, and then wherever its name fits: `Project.module_of`.
        """
        self._unite(name, self._below[name])
        folders = ["", *(f"{above}." for above in _prefixes(name.rpartition(".")[0]))]
        for root in {*_imported(text), *_ASSUMED}:
            if not root:
                self._unite(name, self._below[name.partition(".")[0]] if "." in name else [*self._leads_to])
                continue
            for folder in folders:
                self._unite(name, self._below.get(f"{folder}{root}"))
            self._unite(name, self._within.get(root))

    def _unite(self, name: str, others: list[str] | None) -> None:
        if not others:
            return
        for each in others:
            self._leads_to[self.of(each)] = self.of(name)
        del others[1:]  # they are one group now: joining the first joins all


def _prefixes(name: str) -> Iterator[str]:
    """`a`, `a.b`, `a.b.c`: a name and the packages above it."""
    end = name.find(".")
    while end >= 0:
        yield name[:end]
        end = name.find(".", end + 1)
    if name:
        yield name


def _imported(text: str) -> Iterator[str]:
    """The first parts of the names that a text imports; of relative imports, an empty one."""
    for found in _IMPORT.finditer(text):
        start = found.start()
        origin = _FROM.search(text, max(0, start - LONGEST_FROM), start)
        if origin is not None:
            yield "" if origin["dots"] else origin["name"].partition(".")[0]
        else:
            names = found["names"].replace("\\\n", " ").split(",")
            yield from (each.split()[0].partition(".")[0] for each in names if each.strip())
