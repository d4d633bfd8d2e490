"""What measured runs taught: tables, drawings and a JSON document of a calibration."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from flyball_planner.calibration.compare import MEMORY, STEP, Calibration, Comparison
from flyball_planner.calibration.learned import Learned, Lesson
from flyball_planner.report.against import against_chart
from flyball_planner.report.given import wide
from flyball_reports.figures import duration, percent, plural, size, spread
from flyball_reports.section import Chart, Section, Table

SCHEMA_VERSION = "1.0"
TITLES = {STEP: "Steps, estimated against actual", MEMORY: "Memory, estimated against actual"}
WORDS = {STEP: duration, MEMORY: size}
HEADS = ("Run", "Measured", "Estimated before", "Error", "Calibrated", "Error", "Within")


def sections(calibration: Calibration) -> tuple[Section, ...]:
    """What was learned, each run beside its estimates, and what was refused."""
    found = (
        Section("", (_summary(calibration),)),
        Section("Learned", tables=_learned(calibration.learned)),
        *(_compared(quantity, of(calibration, quantity)) for quantity in TITLES),
        Section("Refused", points=tuple(map(str, calibration.refused)), tone="warning"),
    )
    return tuple(each for each in found if each.text or each.tables or each.points)


def charts(calibration: Calibration) -> dict[str, Chart]:
    """Estimates over measurements, by the titles of their sections."""
    asked = ((quantity, of(calibration, quantity)) for quantity in TITLES)
    return {TITLES[quantity]: against_chart(quantity, found, WORDS[quantity]) for quantity, found in asked if found}


def document(calibration: Calibration) -> dict[str, Any]:
    """The same for programs; seconds, bytes and ratios."""
    return {
        "schema_version": SCHEMA_VERSION,
        "source": calibration.source,
        "learned": [_learned_document(each) for each in calibration.learned],
        "runs": [
            {
                **msgspec.to_builtins(each),
                "error_before": each.error_before,
                "error_after": each.error_after,
                "within": each.after.holds(each.measured),
            }
            for each in calibration.comparisons
        ],
        "mean_error": {
            quantity: {"before": mean_error(found)[0], "after": mean_error(found)[1]}
            for quantity in TITLES
            if (found := of(calibration, quantity))
        },
        "refused": msgspec.to_builtins(calibration.refused),
    }


def of(calibration: Calibration, quantity: str) -> list[Comparison]:
    """The comparisons of one quantity."""
    return [each for each in calibration.comparisons if each.quantity == quantity]


def mean_error(found: Sequence[Comparison]) -> tuple[float, float]:
    """Absolute, as ratios: before and after."""
    before, after = (sum(abs(getattr(each, name)) for each in found) for name in ("error_before", "error_after"))
    return before / len(found), after / len(found)


def _learned_document(each: Learned) -> dict[str, Any]:
    lessons = {"step": each.steps, "memory": each.memory}
    return {"kind": msgspec.to_builtins(each.kind), **{name: msgspec.to_builtins(of) for name, of in lessons.items()}}


def _summary(calibration: Calibration) -> str:
    names = {each.name for each in calibration.comparisons}
    words = [f"{plural(len(names), 'run')} of {plural(len(calibration.learned), 'kind')} of model and device"]
    for quantity, name in ((STEP, "steps"), (MEMORY, "memory")):
        found = of(calibration, quantity)
        if found:
            before, after = mean_error(found)
            moved = "falls" if after < before else "rises" if after > before else "stays"
            words.append(f"the mean error of {name} {moved}, from {percent(before)} to {percent(after)}")
    refused = f"; {plural(len(calibration.refused), 'run')} refused" if calibration.refused else ""
    return f"{'; '.join(words)}{refused}. Each run is estimated by what the others teach."


def _learned(learned: Sequence[Learned]) -> tuple[Table, ...]:
    rows = tuple(row for each in learned for row in _lessons(each))
    heads = ("Device", "Model", "Of", "Runs", "Now over before", "Interval before", "Interval now")
    return (Table(rows, heads, (3, 4, 5, 6)),) if rows else ()


def _lessons(each: Learned) -> Iterator[tuple[str, ...]]:
    for name, lesson in (("step", each.steps), ("memory", each.memory)):
        if lesson is not None and each.kind is not None:
            yield (each.kind.device, each.kind.family, name, *_figures(lesson))


def _figures(lesson: Lesson) -> tuple[str, ...]:
    factor = spread(lesson.factor, lambda ratio: f"{ratio:.3g}")
    return f"{lesson.runs}", factor, wide(lesson.width_before), wide(lesson.width_after)


def _compared(quantity: str, found: Sequence[Comparison]) -> Section:
    rows = tuple(_row(each) for each in found)
    return Section(TITLES[quantity], tables=(Table(rows, HEADS, (1, 2, 3, 4, 5)),) if rows else ())


def _row(each: Comparison) -> tuple[str, ...]:
    told = WORDS[each.quantity]
    return (
        each.name,
        told(each.measured),
        told(each.before.middle),
        _signed(each.error_before),
        spread(each.after, told),
        _signed(each.error_after),
        "yes" if each.after.holds(each.measured) else "no",
    )


def _signed(error: float) -> str:
    return f"{'+' if error >= 0 else '−'}{100 * abs(error):.1f} %"
