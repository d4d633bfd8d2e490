"""What the corpus says must be found in it: comments such as `# expect: retained-graph@warning` on the line."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from flyball_audit.finding import Finding, Severity

CORPUS = Path(__file__).parent / "corpus"
SCRIPTS = CORPUS / "scripts"

_COMMENT = re.compile(r"#\s*expect:\s*(?P<marks>[\w@, -]+)$")


class Spot(NamedTuple):
    """A line that shows a rule's fault; `cell` counts a notebook's code cells from 1."""

    file: Path
    cell: int | None
    line: int
    rule: str


@dataclass(frozen=True)
class Case:
    """A snippet or a script: a file, or a folder of modules that import one another."""

    path: Path

    @property
    def rule(self) -> str:
        """The rule that a snippet speaks of; for a script, its name."""
        return self.path.parent.name

    @property
    def is_faulty(self) -> bool:
        """Whether something must be found."""
        return self.path.name.startswith("faulty")

    def __str__(self) -> str:
        return f"{self.rule}/{self.path.name}"

    @property
    def files(self) -> list[Path]:
        """Its modules and notebooks."""
        inside = sorted(self.path.iterdir()) if self.path.is_dir() else [self.path]
        return [each for each in inside if each.suffix in {".py", ".ipynb"}]

    @property
    def expected(self) -> dict[Spot, Severity | None]:
        """What its comments name, with the severity where they fix one."""
        return {spot: severity for file in self.files for spot, severity in _marks(file)}


def snippets() -> list[Case]:
    """Every snippet of every rule."""
    folders = [each for each in sorted(CORPUS.iterdir()) if each.is_dir() and each != SCRIPTS]
    return [Case(path) for folder in folders for path in sorted(folder.iterdir())]


def scripts() -> list[Case]:
    """Every script, faulty and tuned."""
    return [Case(path) for path in sorted(SCRIPTS.glob("*/*.py"))]


def spots(findings: Iterable[Finding]) -> dict[Spot, Severity]:
    """Where findings stand, as the corpus counts it."""
    return {Spot(Path(each.path), each.cell, each.line, each.rule): each.severity for each in findings}


def _marks(file: Path) -> Iterator[tuple[Spot, Severity | None]]:
    for cell, text in _texts(file):
        for line, code in enumerate(text.splitlines(), 1):
            found = _COMMENT.search(code)
            for mark in found["marks"].split(",") if found else ():
                rule, _, severity = mark.strip().partition("@")
                yield Spot(file, cell, line, rule), Severity(severity) if severity else None


def _texts(file: Path) -> Iterator[tuple[int | None, str]]:
    if file.suffix == ".py":
        yield None, file.read_text(encoding="utf-8")
        return
    cells = [each for each in json.loads(file.read_text(encoding="utf-8"))["cells"] if each["cell_type"] == "code"]
    for number, cell in enumerate(cells, 1):
        yield number, "".join(cell["source"])
