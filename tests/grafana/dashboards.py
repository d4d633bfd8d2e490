"""Read the committed dashboards, their panels, variables and queries."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "grafana" / "dashboards"
FILES = sorted(FOLDER.glob("*.json"))
NAMES = [path.stem for path in FILES]

Json = dict[str, Any]


def read(name: str) -> Json:
    """Read a dashboard by the name of its file."""
    return dict(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")))


def panels(dashboard: Json) -> Iterator[Json]:
    """Yield every panel, also those in collapsed rows, without the rows themselves."""
    for panel in dashboard["panels"]:
        if panel["type"] == "row":
            yield from panel["panels"]
        else:
            yield panel


def variables(dashboard: Json) -> list[Json]:
    """Return every variable."""
    return list(dashboard["templating"]["list"])


@dataclass(frozen=True, slots=True)
class Query:
    """A query and its place in a dashboard."""

    dashboard: str
    where: str
    expression: str
    instant: bool

    def __str__(self) -> str:
        return f"{self.dashboard} / {self.where}"


def queries(name: str) -> list[Query]:
    """Return all queries of a dashboard: panels, variables and annotations."""
    dashboard = read(name)
    found = [
        Query(name, f"{panel['title']} {target['refId']}", target["expr"], bool(target.get("instant")))
        for panel in panels(dashboard)
        for target in panel["targets"]
    ]
    found += [
        Query(name, f"variable {variable['name']}", variable["query"], True)
        for variable in variables(dashboard)
        if variable["type"] == "query"
    ]
    return found + [
        Query(name, f"annotation {annotation['name']}", annotation["expr"], False)
        for annotation in dashboard["annotations"]["list"]
    ]
