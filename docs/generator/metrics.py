"""The page of all metrics, docs/metrics.md, from the declarations of agent and collector."""

from flyball_agent import metrics_document as agent
from flyball_collector.exporter import metrics_document as collector


def document() -> str:
    """Return the page."""
    return f"{agent.build()}\n{collector.document()}"
