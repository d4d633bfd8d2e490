"""Tests of rendering a plan in every format."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from flyball_planner.interval import Interval
from flyball_planner.plan.plan import Plan
from flyball_planner.report.charts import charts
from flyball_planner.report.document import document, schema_text
from flyball_planner.report.render import ReportFormat, render
from flyball_planner.report.testing import hostile_plan, sample_plan

ROOT = Path(__file__).parents[3]


def test_the_json_document_is_the_plan() -> None:
    """The JSON document converts back to the plan, and has the keys that scripts use."""
    text = render(sample_plan(), ReportFormat.JSON)
    loaded = json.loads(text)
    assert msgspec.convert(loaded, Plan) == sample_plan()
    assert loaded["computation"]["estimated_train_time_human"] == "3 days 5 h"
    assert loaded["memory"]["utilization_percent"] == 77.5
    assert next(iter(loaded)) == "schema_version"


def test_infinite_values_are_null_in_json() -> None:
    """JSON has no infinity, so an infinite value becomes null."""
    plan = sample_plan()
    plan = replace(plan, computation=replace(plan.computation, step_seconds=Interval(1.0, 2.0, float("inf"))))
    assert document(plan)["computation"]["step_seconds"]["high"] is None


def test_the_published_schema_is_up_to_date() -> None:
    """If this fails, run `make generated`."""
    assert (ROOT / "docs/plan.schema.json").read_text(encoding="utf-8") == schema_text()


@pytest.mark.parametrize("verbose", [False, True])
def test_markdown_starts_with_the_verdict(verbose: bool) -> None:
    """The summary has time, cost, memory and bottleneck; all tables are well formed."""
    text = render(sample_plan(), ReportFormat.MARKDOWN, verbose=verbose)
    summary = text.split("## ")[0]
    time = "3 days 5 h (2 days 21 h … 3 days 12 h) on 8 × A100-SXM4-80GB; the steps alone 3 days 1 h"
    for words in (time, "$1,226", "fits", "| Limited by | compute |", "210 kWh"):
        assert words in summary
    for title in (
        "Warnings",
        "Model",
        "Hardware",
        "Layout",
        "Memory",
        "Host memory",
        "Computation",
        "Inference",
        "Cost",
    ):
        assert f"\n## {title}\n" in text
    assert ("offloaded" in text) is verbose
    tables = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table}) == 1


def test_names_are_escaped() -> None:
    """Names cannot become markup in Markdown, in a page or in its charts."""
    text = render(hostile_plan(), ReportFormat.MARKDOWN)
    assert "\n# no" not in text
    assert "<script>" not in text
    page = render(hostile_plan(), ReportFormat.HTML)
    assert "<script" not in page
    assert "&lt;script&gt;" in page


class _Balance(HTMLParser):
    """A parser that checks that elements are closed and collects the addresses that they load."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag not in {"meta", "br"}:
            self.open.append(tag)
        self.loaded += [value or "" for name, value in attributes if name in {"src", "href"}]

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Ignore empty elements."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_self_contained() -> None:
    """The page has four charts, loads nothing, and every element is closed."""
    page = render(sample_plan(), ReportFormat.HTML)
    parser = _Balance()
    parser.feed(page)
    assert parser.open == []
    assert parser.loaded == []
    assert page.count("<svg") == 4
    assert set(re.findall(r"https?://[^\s\"']+", page)) == {
        "http://www.w3.org/2000/svg"
    }  # a namespace, which is not loaded
    assert "url(" not in page


def test_the_memory_chart_is_to_scale() -> None:
    """The segments of the bar have the length of the parts relative to the device."""
    plan = sample_plan()
    svg = charts(plan)["Memory"].svg
    bars = [float(width) for width in re.findall(r'<rect x="[\d.]+" y="34.0" width="([\d.]+)"', svg)]
    parts = [each.amount.middle for each in plan.memory.parts if each.amount.middle > 0]
    drawn = sum(bars) + 1.5 * len(bars)
    assert drawn / (760 - 32) * plan.memory.capacity_bytes * 1.02 == pytest.approx(sum(parts), rel=0.01)


def test_empty_charts_are_left_out() -> None:
    """With one row of scaling there are no charts of scalability and cost."""
    plan = replace(sample_plan(), scaling_devices=sample_plan().scaling_devices[:1])
    assert set(charts(plan)) == {"Memory", "Computation"}


def test_a_processor_has_no_driver() -> None:
    """For a processor the report does not mention a driver or an allocator."""
    plan = sample_plan()
    on_processor = replace(plan, hardware=replace(plan.hardware, kind="cpu"))
    text = render(on_processor, ReportFormat.MARKDOWN)
    assert "The training uses " in text
    assert "driver" not in text
    assert "driver" in render(plan, ReportFormat.MARKDOWN)


def test_a_short_run_has_a_suitable_unit() -> None:
    """One device-second is shown in seconds and not as a fraction of an hour."""
    plan = sample_plan()
    short = replace(plan, cost=replace(plan.cost, device_hours=Interval(0.0002, 0.0003, 0.0006)))
    assert "1.08 s (720 ms … 2.16 s) of one device." in render(short, ReportFormat.MARKDOWN)


def test_a_figure_breaks_only_at_its_interval() -> None:
    """In a page a line break never separates a number from its unit."""
    page = render(sample_plan(), ReportFormat.HTML)
    cells = re.findall(r'<td class="figure">([^<]+)</td>', page)
    assert any("(" in cell for cell in cells)
    assert not any(" GiB" in cell or " %" in cell or " s" in cell for cell in cells)
    assert '<span class="whole">' in page


def test_a_change_that_frees_memory_is_only_named_where_memory_is_short() -> None:
    """At 9 % of the memory nothing is gained by freeing more; where the training does not fit, the change is named."""
    plan = sample_plan()
    advice = "The most effective single change"
    roomy = replace(plan, memory=replace(plan.memory, utilization_percent=9.0, verdict="fits"))
    short = replace(plan, memory=replace(plan.memory, verdict="does not fit"))
    assert advice not in render(roomy, ReportFormat.MARKDOWN)
    assert advice in render(short, ReportFormat.MARKDOWN)


def test_a_device_without_maker_has_no_stray_comma() -> None:
    """A user's own device may have neither vendor nor architecture."""
    plan = sample_plan()
    own = replace(plan, hardware=replace(plan.hardware, device="my_gpu", devices=1, vendor="", architecture=""))
    assert "| Device | my\\_gpu |" in render(own, ReportFormat.MARKDOWN)


def test_a_count_of_variants_is_only_explained_where_a_table_has_one() -> None:
    """The legend of alternatives explains "(+2)" if an alternative ends in such a count, and not otherwise."""
    plan = sample_plan()
    first, *others = plan.alternatives
    counted = replace(plan, alternatives=(replace(first, words=f"{first.words} (+2)"), *others))
    legend = "counts further layouts"
    assert legend not in render(plan, ReportFormat.MARKDOWN)
    assert legend in render(counted, ReportFormat.MARKDOWN)
