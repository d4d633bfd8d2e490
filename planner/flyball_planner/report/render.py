"""Renders a plan in a report format."""

from enum import StrEnum

from flyball_planner.plan.plan import Plan


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

        return markdown(plan.title, parts)
    from flyball_planner.report.charts import charts  # noqa: PLC0415
    from flyball_reports.page import page  # noqa: PLC0415

    return page(plan.title, parts, charts(plan), FOOTER)


FOOTER = "Made by flyball plan. Figures in brackets are 90 % intervals: nine of ten should contain the true value."
