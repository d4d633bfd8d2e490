"""Tests of the report's sections on inference, host memory, complexity and the learning rate."""

from msgspec.structs import replace

from flyball_planner.plan.plan import Plan
from flyball_planner.report.comparison_sections import WITHOUT_MEMORY
from flyball_planner.report.render import ReportFormat, render
from flyball_planner.report.sections import sections
from flyball_planner.report.testing import sample_plan


def text(plan: Plan) -> str:
    """Return the Markdown report."""
    return render(plan, ReportFormat.MARKDOWN)


def test_the_report_shows_how_the_model_is_used() -> None:
    """One sample, a batch, the prompt, each token and the KV cache have their figures."""
    shown = text(sample_plan())
    assert "| One sample | 3.5 TFLOP, 13 ms (11.7 ms … 14.3 ms) |" in shown
    assert "8 samples together" in shown
    assert "23.8 per second, limited by kernel launches; with CUDA graphs 2.8 ms" in shown
    assert "KV cache" in shown
    assert "190 sequences of this length fit at once" in shown


def test_figures_of_several_requests_and_devices_are_named_as_such() -> None:
    """The cache and the prompts are those of all requests, and the weights those of all devices."""
    plan = sample_plan()
    assert plan.inference is not None
    assert plan.inference.generation is not None
    many = replace(plan.inference, devices=2, generation=replace(plan.inference.generation, sequences=32))
    shown = text(replace(plan, inference=many))
    assert ", which hold it completely" in shown
    assert "| 32 prompts of the full context |" in shown
    assert "for 32 × " in shown
    assert " in total |" in shown


def test_the_report_shows_what_a_host_needs() -> None:
    """The host's memory has a verdict where its capacity is known, and only the need where it is not."""
    plan = sample_plan()
    assert "and has 931 GiB: fits." in text(plan)
    assert "| Operating system | 2.8 GiB (1.9 GiB … 3.7 GiB) |" in text(plan)
    assert plan.host is not None
    unknown = text(replace(plan, host=replace(plan.host, capacity_bytes=None, verdict="")))
    assert "Each host needs" in unknown
    assert "and has" not in unknown


def test_the_report_shows_growth_and_learning_rate() -> None:
    """The complexity class and the learning rate are part of the model's section; a missing one has no row."""
    plan = sample_plan()
    assert "O(n·L·(s·d² + s²·d)) for the training, O(L·(s·d² + s²·d)) for a prediction" in text(plan)
    assert "| Learning rate | 0.00015, as specified |" in text(plan)
    without = replace(
        plan, model=replace(plan.model, complexity=None), training=replace(plan.training, learning_rate=None)
    )
    assert "Complexity" not in text(without)
    assert "Learning rate" not in text(without)


def test_the_report_separates_steps_from_what_runs_lose() -> None:
    """The complete run and its steps alone are two figures, with the reason of their difference."""
    plan = sample_plan()
    assert "| Steps alone | 3 days 1 h (2 days 18 h … 3 days 8 h) |" in text(plan)
    assert "4 % more as published runs took" in text(plan).replace("4.0 %", "4 %")
    measured = replace(plan, computation=replace(plan.computation, overrun=1.0))
    assert "| the start, checkpoints, evaluation, expected failures |" in text(measured)
    single = replace(plan, computation=replace(plan.computation, steps_alone_seconds=None, overrun=None))
    assert "teps alone" not in text(single)
    assert "published runs" not in text(single)


def test_the_efficiency_of_products_is_shown() -> None:
    """The report has it beside the utilisation of the step, and whether a user gave it."""
    plan = sample_plan()
    for value, basis in ((0.4, "as specified"), (0.6, "estimated")):
        given = replace(plan, computation=replace(plan.computation, efficiency=value, efficiency_basis=basis))
        assert f"| Efficiency | matrix products reach {value:.0%} of the peak rate ({basis}) |".replace(
            "%", " %"
        ) in text(given)


def test_a_second_peak_is_named() -> None:
    """With 8-bit products both utilisations are shown."""
    plan = sample_plan()
    narrow = replace(plan, computation=replace(plan.computation, mfu_percent=22.0, wide_mfu_percent=44.0))
    assert "22.0 % of the peak rate (MFU), 44.0 % with recomputation (HFU), 44.0 % of the 16-bit peak" in text(narrow)


def test_equal_utilisations_are_one_figure() -> None:
    """Without recomputation there is one utilisation, and a tiny one is not written with powers of ten."""
    plan = sample_plan()
    equal = replace(plan, computation=replace(plan.computation, mfu_percent=44.01, hfu_percent=44.0))
    assert "44.0 % of the peak rate (MFU) |" in text(equal)
    tiny = replace(plan, computation=replace(plan.computation, mfu_percent=4e-5, hfu_percent=4e-5))
    assert "less than 0.01 % of the peak rate (MFU) |" in text(tiny)
    few = replace(plan, memory=replace(plan.memory, utilization_percent=0.02))
    assert "fits: less than 1 % of" in text(few)


def test_recommendations_can_be_left_out() -> None:
    """A specification may ask for a report without recommendations."""
    titles = [each.title for each in sections(sample_plan(), recommended=False)]
    assert "Recommendations" not in titles
    assert "Recommendations" in [each.title for each in sections(sample_plan())]


def test_a_plan_that_does_not_fit_promises_neither_time_nor_cost() -> None:
    """Time, cost and energy of a plan that does not fit are marked as what enough memory would give."""
    plan = sample_plan()
    assert "with enough memory" not in text(plan)
    shown = text(replace(plan, memory=replace(plan.memory, verdict="does not fit")))
    for row in ("Time", "Cost", "Energy", "Complete run"):
        assert f"| {row} | does not run; with enough memory " in shown
    assert WITHOUT_MEMORY in shown
