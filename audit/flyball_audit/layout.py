"""How files lie: the dotted name of each, from the folder that all of them share."""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from os.path import commonpath
from pathlib import PurePath

from flyball_audit.source import Source


def dotted_names(sources: Sequence[Source]) -> dict[str, str]:
    """Of each file, by its path: the name under which others may import it; no two have the same."""
    paths = [PurePath(each.path) for each in sources]
    root = _package_root(_root(paths), paths, (each.text for each in sources))
    names: dict[str, str] = {}
    taken = set[str]()
    for path, source in zip(paths, sources, strict=True):
        name = _dotted(path, root)
        alone = path.stem != "__init__" and _imports_its_name(name, source.text)
        name = _unused(f"{name}~" if alone else name, taken)
        taken.add(name)
        names[source.path] = name
    return names


def _root(paths: list[PurePath]) -> PurePath:
    """The folder that all files share."""
    folders = [str(each.parent) for each in paths]
    try:
        return PurePath(commonpath(folders)) if folders else PurePath()
    except ValueError:  # absolute and relative paths together
        return PurePath()


def _package_root(root: PurePath, paths: Iterable[PurePath], texts: Iterable[str]) -> PurePath:
    """The folder above the package that the files are a part of, where they import each other by its name."""
    above = {each.name: each.parent for each in (*reversed(root.parents), root) if each.name.isidentifier()}
    if not above:
        return root
    names = "|".join(above)
    imports = re.compile(rf"^[ \t]*(?:from|import)[ \t]+((?:{names})(?:\.\w+)+)", re.MULTILINE)
    whole = re.compile(rf"^import[ \t]+({names})[ \t]*$", re.MULTILINE)
    there = set(paths)
    said = [name for text in texts for name in (*imports.findall(text), *_used(text, whole.findall(text)))]
    parts = {tuple(name.split(".")) for name in said}
    bases = [above[each[0]] for each in parts if above[each[0]].joinpath(*each).with_suffix(".py") in there]
    return min(bases, key=lambda each: len(each.parts), default=root)


def _used(text: str, packages: Iterable[str]) -> Iterator[str]:
    """What a text that imports a whole package uses of it: `app.data.loader` behind `import app`."""
    for each in packages:
        yield from re.findall(rf"(?<![\w.]){each}(?:\.\w+)+", text)


def _dotted(path: PurePath, root: PurePath) -> str:
    inside = path.relative_to(root) if path.is_relative_to(root) else path
    parts = [each for each in inside.with_suffix("").parts if each != path.anchor]
    if len(parts) > 1 and parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts)


def _imports_its_name(name: str, text: str) -> bool:
    """Whether a file alone at the top is called like a library that it imports: `torch.py` of a package, by itself."""
    if "." in name or name not in text:
        return False
    return re.search(rf"^[ \t]*(?:import|from)[ \t]+{re.escape(name)}\b", text, re.MULTILINE) is not None


def _unused(name: str, taken: Container[str]) -> str:
    """The name itself, or with a number behind it: two files may differ in their suffix alone."""
    number = 2
    free = name
    while free in taken:
        free = f"{name}~{number}"
        number += 1
    return free
