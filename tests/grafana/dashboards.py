"""The committed dashboards as Grafana will read them, taken apart."""

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
    """A dashboard by the name of its file."""
    return dict(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")))


def panels(dashboard: Json) -> Iterator[Json]:
    """Every panel, those in closed rows too, without the rows."""
    for panel in dashboard["panels"]:
        if panel["type"] == "row":
            yield from panel["panels"]
        else:
            yield panel


def variables(dashboard: Json) -> list[Json]:
    """Every variable."""
    return list(dashboard["templating"]["list"])


@dataclass(frozen=True, slots=True)
class Asked:
    """A query, and where it stands."""

    dashboard: str
    where: str
    expression: str
    instant: bool

    def __str__(self) -> str:
        return f"{self.dashboard} / {self.where}"


def queries(name: str) -> list[Asked]:
    """Everything that a dashboard asks Prometheus: panels, variables and annotations."""
    dashboard = read(name)
    asked = [
        Asked(name, f"{panel['title']} {target['refId']}", target["expr"], bool(target.get("instant")))
        for panel in panels(dashboard)
        for target in panel["targets"]
    ]
    asked += [
        Asked(name, f"variable {variable['name']}", variable["query"], True)
        for variable in variables(dashboard)
        if variable["type"] == "query"
    ]
    return asked + [
        Asked(name, f"annotation {annotation['name']}", annotation["expr"], False)
        for annotation in dashboard["annotations"]["list"]
    ]
