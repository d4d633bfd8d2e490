"""One review in every format."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from flyball_audit.choices import ReviewFormat
from flyball_audit.finding import Severity
from flyball_audit.report.render import render
from flyball_audit.report.terminal import plain, terminal
from flyball_audit.report.testing import CODE, sample_finding, sample_patch, sample_review
from flyball_audit.review import Review
from flyball_audit.source import Source

HOSTILE = "<script>alert(1)</script>`|*\x1b[31m"


def _hostile() -> Review:
    """Names that would like to be markup, and to colour the terminal."""
    path = f"{HOSTILE}.py"
    found = sample_finding()
    finding = replace(found, path=path, message=HOSTILE, because=HOSTILE, change=HOSTILE, expected=HOSTILE)
    code = CODE.replace("loss.item()", f"loss.item()  # {HOSTILE}```")
    return Review(f"Audit of {path}", (finding,), (Source(path, code),), failures=(HOSTILE,))


def test_json_has_every_field_that_was_promised() -> None:
    """Also for programs that know only these."""
    told = json.loads(render(sample_review(), ReviewFormat.JSON, sample_patch))
    assert told["files"] == 2
    assert [each["path"] for each in told["errors"]] == ["old.py"]
    promised = {
        "rule",
        "path",
        "line",
        "column",
        "severity",
        "confidence",
        "message",
        "because",
        "change",
        "expected",
        "diff",
    }
    assert all(promised <= each.keys() for each in told["findings"])
    by_rule = {each["rule"]: each for each in told["findings"]}
    assert (by_rule["sync-every-step"]["line"], by_rule["sync-every-step"]["column"]) == (8, 14)
    assert "-    total += loss.item()\n+    total += loss.detach()\n" in by_rule["sync-every-step"]["diff"]
    assert (by_rule["no-compile"]["diff"], by_rule["zero-grad-to-zero"]["safe"]) == ("", True)
    assert told["withdrawn"][0]["reason"] == "gpu_busy_ratio 99 % (run 7)"
    assert told["estimate"]["parts"][0]["rules"] == ["sync-every-step"]


def _all(value: Any) -> list[Any]:
    """Every object of a document."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value, *(found for each in inside for found in _all(each))]


def test_sarif_is_what_code_hosts_take() -> None:
    """The properties that its schema requires, indices that fit, one-based regions, relative addresses."""
    told = json.loads(render(sample_review(), ReviewFormat.SARIF, sample_patch))
    assert told["version"] == "2.1.0"
    (run,) = told["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"]
    assert len({each["id"] for each in driver["rules"]}) == len(driver["rules"])
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in {"none", "note", "warning", "error"}
        assert result["message"]["text"]
        assert 0 <= result["rank"] <= 100
        (location,) = result["locations"]
        region = location["physicalLocation"]["region"]
        assert 1 <= region["startLine"] <= region["endLine"]
        assert all(re.fullmatch(r"[0-9a-f]{32}", each) for each in result["partialFingerprints"].values())
    for each in _all(run):
        if isinstance(each, dict) and "uri" in each:
            assert not each["uri"].startswith("/")
            assert each["uriBaseId"] == "AUDITED"
    fixes = {each["ruleId"]: each["fixes"] for each in run["results"] if "fixes" in each}
    (replacement,) = fixes["zero-grad-to-zero"][0]["artifactChanges"][0]["replacements"]
    assert replacement == {
        "deletedRegion": {"startLine": 4, "startColumn": 1, "endLine": 5, "endColumn": 1},
        "insertedContent": {"text": "    optimizer.zero_grad()\n"},
    }
    assert run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"].startswith("Python 2")


def test_a_fingerprint_stays_while_its_line_does() -> None:
    """So that a code host knows a finding again that has moved."""
    moved = Source("train.py", f"import os\n{CODE}")
    review = sample_review()
    later = replace(review, findings=(replace(sample_finding(), line=9, end_line=9),), sources=(moved,))
    first, second = (
        {
            each["ruleId"]: each["partialFingerprints"]
            for each in json.loads(render(one, ReviewFormat.SARIF, lambda _: None))["runs"][0]["results"]
        }
        for one in (review, later)
    )
    assert first["sync-every-step"] == second["sync-every-step"]


def test_a_cell_of_a_notebook_is_named_in_sarif() -> None:
    """Its lines are not those of the file, which is JSON."""
    finding = replace(sample_finding(), path="a.ipynb", cell=2, line=1, end_line=1)
    review = Review("Audit", (finding,), (Source("a.ipynb", "a\n\nb\n", cells=(1, 3)),))
    (result,) = json.loads(render(review, ReviewFormat.SARIF, lambda _: None))["runs"][0]["results"]
    (location,) = result["locations"]
    assert location["logicalLocations"] == [{"name": "cell 2, line 1"}]
    assert "region" not in location["physicalLocation"]


def test_markdown_says_what_matters_first() -> None:
    """Summary, estimate, findings by severity with location, cause and fix, remaining work, checklist."""
    text = render(sample_review(), ReviewFormat.MARKDOWN, sample_patch)
    titles = re.findall(r"^##? (.*)$", text, re.MULTILINE)
    assert titles == [
        "Audit of train.py",
        "Executive summary",
        "Before and after",
        "Errors (1)",
        "Warnings (2)",
        "Notes (2)",
        "Withdrawn by measurements",
        "Skipped files",
        "Remaining work",
        "Checklist",
    ]
    assert "| Findings | 1 error, 2 warnings and 2 notes in 1 of 2 files |" in text
    assert "| waiting for the host | 40 % | 3× | 13 % | sync-every-step |" in text
    assert "| Cause | `loss` is on the device, and the host waits for it in every step |" in text
    assert "```diff\n--- a/train.py\n+++ b/train.py\n" in text
    assert "- [ ] sync-every-step in train.py:8:14: add up `loss.detach()`" in text
    assert text.index("### sync-every-step") < text.index("### zero-grad-to-zero")
    tables = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table}) == 1


def test_what_found_nothing_says_so() -> None:
    """In one line, and without empty sections."""
    review = Review("Audit of a.py", (), (Source("a.py", ""),))
    text = render(review, ReviewFormat.MARKDOWN, sample_patch)
    assert (
        text
        == "# Audit of a.py\n\n## Executive summary\n\n|  |  |\n| --- | --- |\n| Findings | no findings in 1 file |\n"
    )
    assert render(review, ReviewFormat.TERMINAL, sample_patch) == "no findings in 1 file.\n"


class _Page(HTMLParser):
    """Gathers what would be loaded or run."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.loaded += [value or "" for name, value in attributes if name in {"src", "href"} or name.startswith("on")]


def test_the_page_needs_nothing_and_foreign_text_stays_text() -> None:
    """No script, no address; names of files and code cannot become elements."""
    page = _Page()
    page.feed(
        render(_hostile(), ReviewFormat.HTML, lambda _: None) + render(sample_review(), ReviewFormat.HTML, sample_patch)
    )
    assert page.loaded == []
    assert "script" not in page.tags
    assert {"svg", "ins", "del", "pre", "h3"} <= page.tags


def test_foreign_text_stays_text_in_markdown() -> None:
    """Outside of code nothing is markup, and no fence is closed from within."""
    text = render(_hostile(), ReviewFormat.MARKDOWN, lambda _: None)
    outside = re.sub(r"^(`{3,}).*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert "<script>" not in re.sub(r"`[^`\n]*`", "", outside)
    assert len(re.findall(r"^````", text, re.MULTILINE)) == 2


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("verbose", [False, True])
def test_the_terminal_gets_lines_that_fit(width: int, verbose: bool) -> None:
    """Nothing in a file can steer it; notes are brief unless all is wanted."""
    for review in (sample_review(), _hostile()):
        lines = plain(terminal(review, width, verbose=verbose)).split("\n")
        assert all(line.isprintable() for line in lines)
        assert all(len(line) <= max(width, 53) for line in lines if line.startswith("  "))
        text = "\n".join(lines)
        assert "8 │     total += loss.item()" in text
        assert ("  3 │ for x, y in loader:\n    │             ^^^^^^" in text) is (verbose and review.files == 2)


def test_findings_of_a_severity_are_ordered_by_what_they_bring() -> None:
    """The greatest gain that is sure stands first."""
    text = render(sample_review(), ReviewFormat.MARKDOWN, sample_patch)
    first = text[text.index("| rule | what to change first |") :].split("\n")[2:5]
    rules = ["clip-before-unscale", "sync-every-step", "zero-grad-to-zero"]
    assert [line.removeprefix("| ").split(" | ")[0] for line in first] == rules


def test_a_rule_with_many_places_is_named_once_in_the_summary() -> None:
    """So that the first three are three things to do."""
    findings = tuple(replace(sample_finding(), line=line, end_line=line) for line in (5, 6, 8))
    text = render(Review("Audit", findings, (Source("train.py", CODE),)), ReviewFormat.MARKDOWN, lambda _: None)
    assert text.count("| sync-every-step |") == 1
    assert "| train.py:5:14 and 2 more |" in text


def test_a_review_counts_its_severities() -> None:
    """And gives the texts by path."""
    review = sample_review()
    assert [len(review.of(each)) for each in Severity] == [2, 2, 1]
    assert set(review.source) == {"train.py", "data.py"}
