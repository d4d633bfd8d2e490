"""Write the dashboards: `python -m grafana.generator [DIRECTORY]`."""

import sys
from pathlib import Path

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import AnnotationQuery, Dashboard, DashboardLink

from grafana.generator.collector import collectors
from grafana.generator.fleet import fleet
from grafana.generator.gpu import gpus
from grafana.generator.host import hosts
from grafana.generator.run import runs

DASHBOARDS = Path(__file__).parents[1] / "dashboards"
ALL = (fleet, hosts, gpus, runs, collectors)


class _Encoder(JSONEncoder):
    def default(self, obj: object) -> object:
        """Drop the placement of links and annotations: the SDK always puts them into a menu, where nobody sees them."""
        payload = super().default(obj)
        if isinstance(obj, DashboardLink | AnnotationQuery) and isinstance(payload, dict):
            payload.pop("placement", None)
        return payload


def as_json(dashboard: Dashboard) -> str:
    """Encode a dashboard for Grafana, with sorted keys so that diffs stay small."""
    return _Encoder(indent=2, sort_keys=True, ensure_ascii=False).encode(dashboard) + "\n"


def documents() -> dict[str, str]:
    """Return every dashboard by its file name."""
    dashboards = [make() for make in ALL]
    return {f"{dashboard.uid}.json": as_json(dashboard) for dashboard in dashboards}


def main() -> None:
    """Write all dashboards, and delete files of dashboards that no longer exist."""
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else DASHBOARDS
    directory.mkdir(parents=True, exist_ok=True)
    wanted = documents()
    for name, text in wanted.items():
        (directory / name).write_text(text, encoding="utf-8")
    for path in directory.glob("*.json"):
        if path.name not in wanted:
            path.unlink()


if __name__ == "__main__":
    main()
