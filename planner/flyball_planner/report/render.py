"""A plan in the format that was asked for."""

from enum import StrEnum

from flyball_planner.plan.plan import Plan


class ReportFormat(StrEnum):
    """How a plan is written to a file."""

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
    """The whole report. Each format is imported when it is asked for."""
    if form is ReportFormat.JSON:
        from flyball_planner.report.document import json_text  # noqa: PLC0415

        return json_text(plan)
    from flyball_planner.report.sections import sections  # noqa: PLC0415

    said = sections(plan, verbose=verbose)
    if form is ReportFormat.MARKDOWN:
        from flyball_reports.markdown import markdown  # noqa: PLC0415

        return markdown(plan.title, said)
    from flyball_planner.report.charts import charts  # noqa: PLC0415
    from flyball_reports.page import page  # noqa: PLC0415

    return page(plan.title, said, charts(plan), FOOTER)


FOOTER = "Made by flyball plan. Figures in brackets are 90 % intervals: nine times in ten the truth should lie within."
