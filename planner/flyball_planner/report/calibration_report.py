"""Reports on a calibration: tables, charts and a JSON document."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from flyball_planner.calibration.comparison import MEMORY, STEP, CalibrationResult, Comparison
from flyball_planner.calibration.corrections import Correction, Learned
from flyball_planner.report.accuracy_chart import accuracy_chart
from flyball_planner.report.input_sections import wide
from flyball_reports.figures import duration, percent, plural, size, spread
from flyball_reports.section import Chart, ReportTable, Section

SCHEMA_VERSION = "1.0"
TITLES = {STEP: "Steps, estimated against actual", MEMORY: "Memory, estimated against actual"}
WORDS = {STEP: duration, MEMORY: size}
HEADS = ("Run", "Measured", "Estimated before", "Error", "Calibrated", "Error", "Within")


def sections(calibration: CalibrationResult) -> tuple[Section, ...]:
    """Return the corrections, each run with its estimates, and the refused runs."""
    found = (
        Section("", (_summary(calibration),)),
        Section("Corrections", tables=_learned(calibration.learned)),
        *(_compared(quantity, of(calibration, quantity)) for quantity in TITLES),
        Section("Refused", points=tuple(map(str, calibration.refused)), tone="warning"),
    )
    return tuple(each for each in found if each.text or each.tables or each.points)


def charts(calibration: CalibrationResult) -> dict[str, Chart]:
    """Return the charts of estimates over measurements, by the titles of their sections."""
    comparisons = ((quantity, of(calibration, quantity)) for quantity in TITLES)
    return {
        TITLES[quantity]: accuracy_chart(quantity, found, WORDS[quantity]) for quantity, found in comparisons if found
    }


def document(calibration: CalibrationResult) -> dict[str, Any]:
    """Return the same as plain values, in seconds, bytes and ratios."""
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


def of(calibration: CalibrationResult, quantity: str) -> list[Comparison]:
    """Return the comparisons of one quantity."""
    return [each for each in calibration.comparisons if each.quantity == quantity]


def mean_error(found: Sequence[Comparison]) -> tuple[float, float]:
    """Return the mean absolute errors before and after, as ratios."""
    before, after = (sum(abs(getattr(each, name)) for each in found) for name in ("error_before", "error_after"))
    return before / len(found), after / len(found)


def _learned_document(each: Learned) -> dict[str, Any]:
    corrections = {"step": each.steps, "memory": each.memory}
    return {
        "kind": msgspec.to_builtins(each.kind),
        **{name: msgspec.to_builtins(correction) for name, correction in corrections.items()},
    }


def _summary(calibration: CalibrationResult) -> str:
    names = {each.name for each in calibration.comparisons}
    words = [f"{plural(len(names), 'run')} of {plural(len(calibration.learned), 'kind')} of model and device"]
    for quantity, name in ((STEP, "steps"), (MEMORY, "memory")):
        found = of(calibration, quantity)
        if found:
            words.append(f"the mean error of {name} {_moved(*mean_error(found))}")
    refused = f"; {plural(len(calibration.refused), 'run')} refused" if calibration.refused else ""
    return f"{'; '.join(words)}{refused}. Each run is estimated after learning from the others only."


def _moved(before: float, after: float) -> str:
    if percent(before) == percent(after):
        return f"stays at {percent(after)}"
    return f"{'falls' if after < before else 'rises'} from {percent(before)} to {percent(after)}"


def _learned(learned: Sequence[Learned]) -> tuple[ReportTable, ...]:
    rows = tuple(row for each in learned for row in _corrections(each))
    heads = ("Device", "Model", "Quantity", "Runs", "Factor", "Interval before", "Interval after")
    return (ReportTable(rows, heads, (3, 4, 5, 6)),) if rows else ()


def _corrections(each: Learned) -> Iterator[tuple[str, ...]]:
    for name, correction in (("step", each.steps), ("memory", each.memory)):
        if correction is not None and each.kind is not None:
            yield (each.kind.device, each.kind.family, name, *_figures(correction))


def _figures(correction: Correction) -> tuple[str, ...]:
    factor = spread(correction.factor, lambda ratio: f"{ratio:.3g}")
    return f"{correction.runs}", factor, wide(correction.width_before), wide(correction.width_after)


def _compared(quantity: str, found: Sequence[Comparison]) -> Section:
    rows = tuple(_row(each) for each in found)
    return Section(TITLES[quantity], tables=(ReportTable(rows, HEADS, (1, 2, 3, 4, 5)),) if rows else ())


def _row(each: Comparison) -> tuple[str, ...]:
    formatted = WORDS[each.quantity]
    return (
        each.name,
        formatted(each.measured),
        formatted(each.before.middle),
        _signed(each.error_before),
        spread(each.after, formatted),
        _signed(each.error_after),
        "yes" if each.after.holds(each.measured) else "no",
    )


def _signed(error: float) -> str:
    return f"{'+' if error >= 0 else '−'}{100 * abs(error):.1f} %"
