"""What a user of the audit chooses by a word: the format of the report, and what makes the command fail."""

from enum import StrEnum

from flyball_audit.finding import Severity


class ReviewFormat(StrEnum):
    """How a review is written."""

    TABLE = "table"
    MARKDOWN = "markdown"
    JSON = "json"
    SARIF = "sarif"
    HTML = "html"
    TERMINAL = "terminal"  # the former name of `table`, which is not shown


SUFFIXES = {
    ".md": ReviewFormat.MARKDOWN,
    ".json": ReviewFormat.JSON,
    ".sarif": ReviewFormat.SARIF,
    ".html": ReviewFormat.HTML,
    ".htm": ReviewFormat.HTML,
    ".txt": ReviewFormat.TABLE,
}


class FailOn(StrEnum):
    """From which severity on the command ends with 1."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"
    NEVER = "never"

    def reached_by(self, severity: Severity) -> bool:
        """Whether a finding of this severity is one too many."""
        return self is not FailOn.NEVER and severity.rank >= Severity(self.value).rank
