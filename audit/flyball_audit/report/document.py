"""A review as JSON."""

import json
from typing import Any

from flyball_audit.amdahl import Estimate
from flyball_audit.finding import Finding
from flyball_audit.fix import Patch, PatchOf, safely_fixable
from flyball_audit.review import Review
from flyball_audit.source import Unreadable

SCHEMA_VERSION = "1.0"
"""Within one major version fields are added, never renamed or removed."""


def json_text(review: Review, patch_of: PatchOf) -> str:
    """The JSON document."""
    return json.dumps(document(review, patch_of), indent=2, ensure_ascii=False) + "\n"


def document(review: Review, patch_of: PatchOf) -> dict[str, Any]:
    """The review as plain values."""
    estimate = review.estimate()
    return {
        "schema_version": SCHEMA_VERSION,
        "findings": [_finding(each, patch_of(each)) for each in review.findings],
        "files": review.files,
        "errors": [*map(_error, review.unreadable), *({"message": each} for each in review.failures)],
        "withdrawn": [{**_finding(each.finding, None), "reason": each.reason} for each in review.withdrawn],
        "fixed": [_finding(each, None) for each in review.fixed],
        "estimate": _estimate(estimate) if estimate else None,
    }


def _finding(finding: Finding, patch: Patch | None) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "path": finding.path,
        "line": finding.line,
        "column": finding.column,
        "end_line": finding.end_line,
        "end_column": finding.end_column,
        "cell": finding.cell,
        "severity": finding.severity.value,
        "confidence": round(finding.confidence, 3),
        "message": finding.message,
        "because": finding.because,
        "change": finding.change,
        "expected": finding.expected,
        "up_to_ratio": finding.gain.up_to if finding.gain else None,
        "time": finding.gain.time.value if finding.gain else None,
        "diff": patch.diff if patch else "",
        "safe": safely_fixable(finding),
    }


def _error(unreadable: Unreadable) -> dict[str, Any]:
    return {
        "path": unreadable.path,
        "line": unreadable.line,
        "cell": unreadable.cell,
        "message": unreadable.why,
        "change": unreadable.what_to_do,
    }


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return {
        "ratio": round(estimate.ratio, 3),
        "at_most_ratio": round(estimate.at_most, 3),
        "measured": estimate.measured,
        "parts": [
            {
                "time": part.time.value if part.time else None,
                "share": round(part.share, 4),
                "share_after": round(part.share_after, 4),
                "measured": part.measured,
                "rules": [part.rule, *part.others] if part.rule else [],
            }
            for part in estimate.parts
        ],
    }
