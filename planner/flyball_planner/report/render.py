"""Renders a plan in a report format."""

from enum import StrEnum

from flyball_planner.plan.plan import Plan
from flyball_reports.figures import INTERVALS


class ReportFormat(StrEnum):
    """File formats of a report."""

    MARKDOWN = "markdown"
    JSON = "json"
    HTML = "html"


SUFFIXES = {
    ".md": ReportFormat.MARKDOWN,
    ".json": ReportFormat.JSON,
    ".html": ReportFormat.HTML,
    ".htm": ReportFormat.HTML,
}


def render(plan: Plan, form: ReportFormat, *, verbose: bool = False) -> str:
    """Return the complete report. Only what the format needs is imported."""
    if form is ReportFormat.JSON:
        from flyball_planner.report.document import json_text  # noqa: PLC0415

        return json_text(plan)
    from flyball_planner.report.sections import sections  # noqa: PLC0415

    parts = sections(plan, verbose=verbose)
    if form is ReportFormat.MARKDOWN:
        from flyball_reports.markdown import markdown  # noqa: PLC0415
        from flyball_reports.section import Section  # noqa: PLC0415

        return markdown(plan.title, (*parts, Section("", (FOOTER,))))
    from flyball_planner.report.charts import charts  # noqa: PLC0415
    from flyball_reports.page import page  # noqa: PLC0415

    return page(plan.title, parts, charts(plan), FOOTER)


FOOTER = f"Made by flyball plan. {INTERVALS}"
