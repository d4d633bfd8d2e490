"""`# flyball: ignore[rule] reason`: findings that the code's owner has looked at and keeps."""

import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from flyball_audit.finding import Finding, Severity
from flyball_audit.module import Module

WITHOUT_REASON = "ignore-without-reason"
"""The note about a comment that does not say why."""

_COMMENT = re.compile(r"#\s*flyball:\s*ignore(?P<file>-file)?\s*(?:\[(?P<rules>[^\]]*)\])?\s*[:\-–]*\s*(?P<reason>.*)$")


@dataclass(frozen=True)
class Suppression:
    """One comment: on which line, for which rules (none named: all), with which reason."""

    line: int
    column: int
    rules: frozenset[str]
    reason: str
    stands_alone: bool
    whole_file: bool

    def covers(self, finding: Finding) -> bool:
        """Whether it speaks of a finding: on one of its lines, or on the line before its first."""
        if self.rules and finding.rule not in self.rules:
            return False
        first = finding.begins or finding.line
        if self.whole_file or first <= self.line <= finding.end_line:
            return True
        return self.stands_alone and self.line in {first - 1, finding.line - 1}


def obey(findings: Iterable[Finding], modules: Iterable[Module]) -> Iterator[Finding]:
    """The findings without those that a comment covers, and a note for each comment without a reason."""
    comments = {each.path: suppressions(each) for each in modules if "flyball:" in each.source.text}
    yield from (each for each in findings if not any(one.covers(each) for one in comments.get(each.path, ())))
    for path, here in comments.items():
        yield from (_note(path, each) for each in here if not each.reason)


def suppressions(module: Module) -> tuple[Suppression, ...]:
    """The comments of a file that switch rules off; texts that look like one are no comments."""
    try:
        return tuple(_comments(module.source.text))
    except (tokenize.TokenError, SyntaxError):  # what the parser bears and the tokenizer does not
        return ()


def _comments(text: str) -> Iterator[Suppression]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        found = _COMMENT.match(token.string) if token.type == tokenize.COMMENT else None
        if found is not None:
            names = frozenset(each.strip() for each in (found["rules"] or "").split(",") if each.strip())
            alone = not token.line[: token.start[1]].strip()
            line, column = token.start
            yield Suppression(line, column + 1, names, found["reason"].strip(), alone, found["file"] is not None)


def _note(path: str, comment: Suppression) -> Finding:
    rules = ", ".join(sorted(comment.rules)) or "all rules"
    return Finding(
        rule=WITHOUT_REASON,
        path=path,
        line=comment.line,
        column=comment.column,
        severity=Severity.NOTE,
        confidence=1.0,
        message=f"{rules} switched off here without a reason",
        because="the comment works, but nothing shows whether it is still needed",
        change="Write the reason after the bracket, for example `# flyball: ignore[rule] runs once an epoch`.",
        expected="no time; reasons keep suppressions reviewable (Flyball)",
        end_line=comment.line,
        end_column=comment.column + 1,
    )
