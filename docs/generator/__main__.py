"""Write every document that is generated from the code: `python -m docs.generator`, or `make generated`."""

from collections.abc import Callable
from pathlib import Path

from docs.generator import configuration, metrics
from flyball_audit import document as audit
from flyball_collector.adjustments.rules import rules_document as adjustment_rules
from flyball_collector.advice import rules_document
from flyball_collector.diagnosis import kinds_document
from flyball_collector.diagnosis.health import xid_document
from flyball_planner.catalogue import document as hardware
from flyball_planner.report import document as plan

ROOT = Path(__file__).parents[2]

DOCUMENTS: dict[str, Callable[[], str]] = {
    "deploy/etc/flyball/agent.toml": configuration.agent_example,
    "deploy/etc/flyball/collector.toml": configuration.collector_example,
    "docs/adjustment-rules.md": adjustment_rules.document,
    "docs/advice.md": rules_document.document,
    "docs/audit.md": audit.page,
    "docs/configuration.md": configuration.document,
    "docs/hardware.md": hardware.page,
    "docs/kinds.md": kinds_document.document,
    "docs/metrics.md": metrics.document,
    "docs/plan.schema.json": plan.schema_text,
    "docs/xids.md": xid_document.document,
}
"""Every generated document, by its path in the repository, with the function that makes its text."""


def main() -> None:
    """Write all documents."""
    for name, make in DOCUMENTS.items():
        target = ROOT / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    main()
