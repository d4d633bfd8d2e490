"""Advice shows what was tried on the same run."""

from dataclasses import replace

from flyball_collector.adjustments.settings import AdjustmentsSettings
from flyball_collector.advice.advice import Advice, Effort, Gain, Safety
from flyball_collector.advice.rules.catalogue import RULES
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.http.adjustment_testing import AdjustableTraining
from flyball_collector.http.testing import fetch, serving
from flyball_collector.http.tried_changes import LEVERS, advice_answers


def about(rule: str, subject: Subject) -> Advice:
    """Return advice of a rule."""
    return Advice(
        rule=rule, subject=subject, because="x", change="y", gain=Gain(1.1, 1.2), confidence=0.8, effort=Effort.SETTING,
        safety=Safety.SAFE, source="a paper",
    )  # fmt: skip


async def test_advice_shows_what_a_change_of_the_same_lever_brought() -> None:
    """Advice about the run and about its hosts does, of every route; advice about other levers and runs does not."""
    run = await AdjustableTraining().begin()
    run.play(30)
    made = run.governor.propose("r", "workers", 4, who="otto")
    run.answer()
    run.play(40, step_seconds=0.16)
    assert run.governor.get(made.id) in run.governor.tried("r")
    subjects = (Subject(run="r"), Subject("a"), Subject("c"), Subject(run="other"))
    advice = [about("parallel_workers", subject) for subject in subjects] + [about("tune_pool", Subject(run="r"))]
    parts = replace(run.parts, advice=lambda: advice)
    texts = [each.tried for each in advice_answers(parts, advice)]
    assert texts[1] == texts[0].replace("this run", "run r")  # a host may have several runs
    assert texts[0].startswith("tried on this run: workers 2 → 4, +2")
    assert texts[0].endswith(", kept")
    assert texts[2:] == ["", "", ""]
    async with serving(parts) as url:
        listed = (await fetch(f"{url}/api/v1/advice?run=r")).json()
        diagnosis = (await fetch(f"{url}/api/v1/runs/r/diagnosis")).json()
    assert listed[0]["tried"] == diagnosis["advice"][0]["tried"] == texts[0]


async def test_advice_shows_a_change_in_progress() -> None:
    """It has how to approve the change, then that it is made, then that it is measured, and then what it brought."""
    run = await AdjustableTraining(settings=AdjustmentsSettings(enabled=True, watch_steps=20)).begin()
    run.play(30)
    proposed = run.propose()
    advice = [about("parallel_workers", Subject(run="r")), about("parallel_workers", Subject("a"))]

    def texts() -> list[str]:
        return [each.tried for each in advice_answers(run.parts, advice)]

    how = f"workers 2 → 4, waits for `flyball adjust approve {proposed.id}`"
    assert texts() == [f"proposed for this run: {how}", f"proposed for run r: {how}"]
    run.governor.approve(proposed.id, who="otto")
    assert texts()[0] == "being made on this run: workers 2 → 4"
    run.answer()
    assert texts()[0] == "made on this run: workers 2 → 4, its effect is being measured"
    run.play(60)
    assert texts()[0].startswith("tried on this run: workers 2 → 4")


def test_the_rules_of_advice_exist() -> None:
    """A rule that is renamed would lose its experience."""
    assert LEVERS.keys() <= {rule.name for rule in RULES}
