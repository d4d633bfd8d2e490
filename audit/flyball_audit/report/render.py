"""A review in the format that was asked for."""

from flyball_audit.choices import ReviewFormat
from flyball_audit.fix import PatchOf
from flyball_audit.report.sections import FOOTER, sections
from flyball_audit.review import Review

_PLAIN_WIDTH = 1_000_000  # a pipe gets whole lines


def render(review: Review, form: ReviewFormat, patch_of: PatchOf, *, verbose: bool = False) -> str:
    """The whole report. Each format is imported when it is asked for."""
    if form is ReviewFormat.JSON:
        from flyball_audit.report.document import json_text  # noqa: PLC0415

        return json_text(review, patch_of)
    if form is ReviewFormat.SARIF:
        from flyball_audit.report.sarif import sarif_text  # noqa: PLC0415

        return sarif_text(review, patch_of)
    if form is ReviewFormat.MARKDOWN:
        from flyball_reports.markdown import markdown  # noqa: PLC0415

        return markdown(review.title, sections(review, patch_of))
    if form is ReviewFormat.HTML:
        from flyball_reports.page import page  # noqa: PLC0415

        return page(review.title, sections(review, patch_of), footer=FOOTER)
    from flyball_audit.report.terminal import plain, terminal  # noqa: PLC0415

    return plain(terminal(review, _PLAIN_WIDTH, verbose=verbose))
