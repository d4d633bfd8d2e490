"""Tables of the page of the labelled runs: one column for each way of reporting."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tests.benchmarks.labelled.causes.catalogue import BY_NAME, history_of
from tests.benchmarks.labelled.causes.generator import History
from tests.benchmarks.labelled.column import Column
from tests.benchmarks.labelled.episode import Recorded
from tests.benchmarks.labelled.label import Use
from tests.benchmarks.labelled.score import (
    NOTHING,
    Pair,
    base_is_right,
    calibration,
    calibration_error,
    delays,
    is_right,
    of_use,
    share,
    statements,
)

ONLY = {
    History.TUNED: "tuned on",
    History.SEEN: "seen before",
    History.NEVER: "**never** used before",
}


@dataclass(frozen=True, slots=True)
class Steady:
    """A long episode of steady load, with its primary bottlenecks."""

    name: str
    minutes: float
    primaries: tuple[str, ...]  # in the order in which they came

    @property
    def changes(self) -> int:
        """The number of changes after the first primary bottleneck."""
        return max(0, len(self.primaries) - 1)


def history(recorded: Recorded) -> History:
    """Return what recordings of the episode's generators have been used for."""
    return history_of(recorded.generators)


def used_as(use: Use, *histories: History) -> Callable[[Pair], bool]:
    """Return a test for the episodes of a use, made of generators with one of these histories."""
    return lambda pair: pair[0].label.use is use and (not histories or history(pair[0]) in histories)


def summary(columns: Sequence[Column]) -> str:
    """Return the table of all uses, each also for the generators that nothing was tuned on."""
    never = History.NEVER
    rows = [
        ("single causes: named first", used_as(Use.SINGLE)),
        ("… of generators never used before", used_as(Use.SINGLE, never)),
        ("mixtures: both named", used_as(Use.MIXED)),
        ("… with a generator never used before", used_as(Use.MIXED, never)),
        ("quiet: nothing reported", used_as(Use.QUIET)),
        ("… of generators never used before", used_as(Use.QUIET, never)),
    ]
    lines = _head("", [*(column.title for column in columns), "base formula"])
    for name, chosen in rows:
        cells = [share(filter(chosen, column.pairs)).words for column in columns]
        cells.append(share(filter(chosen, columns[0].pairs), base_is_right).words)
        lines.append(_row(name, cells))
    return "\n".join(lines)


def side_notes(columns: Sequence[Column]) -> str:
    """Return how often more was reported than there was."""
    lines = _head("", [column.title for column in columns])
    extra = [sum(len(v.active) > len(r.truth) for r, v in column.pairs if r.truth) for column in columns]
    early = [sum(bool(v.before) for _, v in column.pairs) for column in columns]
    lines.append(_row("episodes with another bottleneck beside the true ones", map(str, extra)))
    lines.append(_row("episodes with a bottleneck before the cause began", map(str, early)))
    return "\n".join(lines)


def matrix(found: Mapping[str, Counter[str]]) -> str:
    """Return a confusion matrix."""
    rows = sorted(found, key=lambda name: (name == NOTHING, name))
    columns = sorted({name for row in found.values() for name in row}, key=lambda name: (name == NOTHING, name))
    lines = _head("true ↓ reported →", columns)
    lines += [_row(name, (str(found[name][column] or "") for column in columns)) for name in rows]
    return "\n".join(lines)


def confidences(columns: Sequence[Column]) -> str:
    """Return how often reports of each confidence were right."""
    edges = sorted({(b.low, b.high) for column in columns for b in calibration(statements(column.pairs))})
    if not edges:
        return "Nothing was reported."
    found = [{(b.low, b.high): b for b in calibration(statements(column.pairs))} for column in columns]
    lines = _head("confidence", [column.title for column in columns])
    for low, high in edges:
        cells = [bins[low, high].right.words if (low, high) in bins else "" for bins in found]
        lines.append(_row(f"{low:.0%} … {high:.0%}", cells))
    errors = [calibration_error(statements(column.pairs)) for column in columns]
    lines.append(_row("mean distance", ("" if error is None else f"{error:.3f}" for error in errors)))
    return "\n".join(lines)


def delay_table(columns: Sequence[Column]) -> str:
    """Return how soon each class of cause was raised."""
    found = [delays(column.pairs) for column in columns]
    lines = _head("cause", [column.title for column in columns])
    for cause in sorted({cause for each in found for cause in each}):
        cells = [
            f"{each[cause].found} of {each[cause].of}, {each[cause].median_seconds:.0f} s, "
            f"{each[cause].slowest_seconds:.0f} s" if cause in each else ""
            for each in found
        ]  # fmt: skip
        lines.append(_row(cause, cells))
    return "\n".join(lines)


def by_generators(columns: Sequence[Column], use: Use) -> str:
    """Return the share of each generator, or pair of generators."""
    names = sorted({pair[0].generators for column in columns for pair in of_use(column.pairs, use)})
    lines = _head("generator", ["cause", "used before", *(column.title for column in columns)])
    for name in names:
        cells = [
            share(pair for pair in of_use(column.pairs, use) if pair[0].generators == name).words for column in columns
        ]
        causes = ", ".join(BY_NAME[each].cause for each in name)
        lines.append(_row(" + ".join(name), [causes, ONLY[history_of(name)], *cells]))
    return "\n".join(lines)


def steady_table(steady: Iterable[Steady]) -> str:
    """Return the primary bottlenecks of long loads."""
    lines = ["| load | minutes | primary bottlenecks, in order | changes |", "|---|---:|---|---:|"]
    lines += [
        f"| {one.name} | {one.minutes:.0f} | {', '.join(map(short, one.primaries)) or 'none'} | {one.changes} |"
        for one in steady
    ]
    return "\n".join(lines)


def mistakes(columns: Sequence[Column]) -> str:
    """Return each episode that was wrong with some way of reporting."""
    by_name = [{recorded.name: (recorded, verdict) for recorded, verdict in column.pairs} for column in columns]
    lines = _head("episode", ["cause", "gain without", *(column.title for column in columns)])
    for name in sorted({name for pairs in by_name for name in pairs}):
        pairs = [each.get(name) for each in by_name]
        if all(pair is None or is_right(*pair) for pair in pairs):
            continue
        recorded = next(pair[0] for pair in pairs if pair is not None)
        gains = ", ".join(f"×{min(found):.2f}" for found in recorded.label.gains.values() if found)
        cells = ["" if pair is None else "right" if is_right(*pair) else _reported(pair) for pair in pairs]
        lines.append(_row(name, ["; ".join(recorded.strengths), gains, *cells]))
    return "\n".join(lines) if len(lines) > 2 else "None."


def _reported(pair: Pair) -> str:
    _, verdict = pair
    active = ", ".join(f"{short(each.kind)} {each.confidence:.0%}" for each in verdict.active)
    ever = ", ".join(map(short, verdict.ever))
    return active or (f"({ever})" if ever else NOTHING)


def _head(first: str, others: Iterable[str]) -> list[str]:
    names = list(others)
    return [_row(first, names), "|---" + "|---" * len(names) + "|"]


def _row(first: str, cells: Iterable[str]) -> str:
    return "| " + " | ".join([first, *cells]) + " |"


def short(kind: str) -> str:
    """Return a kind's name without its group."""
    return kind.removeprefix("bottleneck_")
