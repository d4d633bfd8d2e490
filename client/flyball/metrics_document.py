"""Writes docs/metrics.md from the declarations of agent and collector: `python -m flyball.metrics_document`."""

from pathlib import Path

from flyball_agent import metrics_document as agent
from flyball_collector.exporter import metrics_document as collector


def document() -> str:
    """Return the page."""
    return f"{agent.build()}\n{collector.document()}"


def main() -> None:
    """Write the page."""
    (Path(__file__).resolve().parents[2] / "docs" / "metrics.md").write_text(document(), encoding="utf-8")


if __name__ == "__main__":
    main()
