"""A review as SARIF 2.1.0, which code hosts and editors show beside the code."""

import hashlib
import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from flyball_audit.finding import Finding, Severity
from flyball_audit.fix import Patch, PatchOf
from flyball_audit.review import Review
from flyball_audit.rule import CERTAIN, LIKELY, Rule
from flyball_audit.rules import RULES
from flyball_audit.source import Source, Unreadable

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
VERSION = "2.1.0"
_PATHS = "AUDITED"
"""The base of all relative addresses: where the command ran."""


def sarif_text(review: Review, patch_of: PatchOf) -> str:
    """The SARIF document."""
    return json.dumps(sarif(review, patch_of), indent=2, ensure_ascii=False) + "\n"


def sarif(review: Review, patch_of: PatchOf, rules: Sequence[Rule] = RULES) -> dict[str, Any]:
    """The review as SARIF's objects."""
    described = [_rule(each) for each in rules]
    known = {each["id"] for each in described}
    described += [{"id": each} for each in sorted({each.rule for each in review.findings} - known)]
    number = {each["id"]: place for place, each in enumerate(described)}
    run = {
        "tool": {"driver": {"name": "flyball audit", "version": version("flyball-fleet"), "rules": described}},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(review)],
        "artifacts": [{"location": _artifact(each.path), "sourceLanguage": "python"} for each in review.sources],
        "results": [
            _result(each, number[each.rule], review.source.get(each.path), patch_of(each)) for each in review.findings
        ],
    }
    return {"$schema": SCHEMA, "version": VERSION, "runs": [run]}


def _rule(rule: Rule) -> dict[str, Any]:
    words = f"{rule.cause} {rule.change} Expected: {rule.expected} ({rule.source})"
    markdown = f"{words}\n\nBefore:\n```python\n{rule.before}\n```\nAfter:\n```python\n{rule.after}\n```"
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.cause},
        "help": {"text": words, "markdown": markdown},
        "defaultConfiguration": {"level": rule.severity.value},
        "properties": {"tags": ["performance"]},
    }


def _invocation(review: Review) -> dict[str, Any]:
    told = [_notification(each) for each in review.unreadable]
    told += [{"level": "error", "message": {"text": each}} for each in review.failures]
    return {"executionSuccessful": not review.failures, "toolExecutionNotifications": told}


def _notification(unreadable: Unreadable) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": _artifact(unreadable.path)}
    if unreadable.cell is None:
        place["region"] = {"startLine": unreadable.line}
    words = {"text": f"{unreadable.why}; {unreadable.what_to_do}"}
    return {"level": "warning", "message": words, "locations": [{"physicalLocation": place}]}


def _result(finding: Finding, rule: int, source: Source | None, patch: Patch | None) -> dict[str, Any]:
    result = {
        "ruleId": finding.rule,
        "ruleIndex": rule,
        "level": finding.severity.value,
        "message": {"text": f"{finding.message}. {finding.because}. Change: {finding.change}".replace("..", ".")},
        "locations": [_location(finding)],
        "partialFingerprints": {"flyballAudit/v1": _fingerprint(finding, source)},
        "rank": round(100 * finding.confidence, 1),
        "properties": {"precision": _precision(finding), "expected": finding.expected},
    }
    if patch is not None and patch.after != patch.file.text:
        result["fixes"] = [_fix(finding, patch)]
    return result


def _precision(finding: Finding) -> str:
    if finding.severity is Severity.NOTE:
        return "low"
    return "very-high" if finding.confidence >= CERTAIN else "high" if finding.confidence >= LIKELY else "medium"


def _location(finding: Finding) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": _artifact(finding.path)}
    if finding.cell is not None:  # its lines count within the cell; a file of JSON has others
        return {"physicalLocation": place, "logicalLocations": [{"name": f"cell {finding.cell}, line {finding.line}"}]}
    place["region"] = {
        "startLine": finding.line,
        "startColumn": finding.column,
        "endLine": finding.end_line,
        "endColumn": finding.end_column,
    }
    return {"physicalLocation": place}


def _artifact(path: str) -> dict[str, str]:
    address = quote(PurePath(path).as_posix())
    return {"uri": f"file://{address}"} if address.startswith("/") else {"uri": address, "uriBaseId": _PATHS}


def _fingerprint(finding: Finding, source: Source | None) -> str:
    """The same while the line stays the same, wherever it moves in its file."""
    lines = source.text.split("\n") if source else []
    start = source.cells[finding.cell - 1] - 1 if source and finding.cell else 0
    at = start + finding.line - 1
    line = lines[at].strip() if at < len(lines) else ""
    return hashlib.sha256(f"{finding.rule}\0{finding.path}\0{line}".encode()).hexdigest()[:32]


def _fix(finding: Finding, patch: Patch) -> dict[str, Any]:
    """All lines from the first to the last that change."""
    lines = patch.replaced
    region = {"startLine": lines.first_line, "startColumn": 1, "endLine": lines.end_line, "endColumn": 1}
    replacement = {"deletedRegion": region, "insertedContent": {"text": lines.text}}
    change = {"artifactLocation": _artifact(finding.path), "replacements": [replacement]}
    return {"description": {"text": finding.change}, "artifactChanges": [change]}
