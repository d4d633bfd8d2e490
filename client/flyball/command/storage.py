"""`flyball storage`: what a hierarchical learner will store, level by level."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import to_builtins

from flyball.command.errors import CommandError
from flyball.command.limits import MOST_SAMPLES, finite
from flyball.command.output import CommandResult, FormOption, OutputOption, tell
from flyball.command.specifications import WRONG, read_text

if TYPE_CHECKING:
    from flyball_planner.storage.estimator import LevelEstimate, StorageEstimate, StorageEstimator
    from flyball_reports.section import Chart

EXAMPLE = "Examples: flyball storage --samples 1000000 --tokens 500; flyball storage -n 1000000 -t 500 -o storage.html"

COUNTED = "it is a list in JSON: [{level, observations, unique, storage_bytes}, …]"


def storage(
    samples: Annotated[int, typer.Option("--samples", "-n", min=1, max=MOST_SAMPLES, help="Samples that are learnt.")],
    tokens: Annotated[float, typer.Option("--tokens", "-t", callback=finite, help="Tokens of a sample, on average.")],
    nodes: Annotated[int, typer.Option(help="Levels of the hierarchy.")] = 4,
    chunk_size: Annotated[int, typer.Option(help="Tokens, or patterns, of one pattern.")] = 15,
    zipf_alpha: Annotated[float, typer.Option(help="How unevenly patterns repeat; 1 for natural data.")] = 1.0,
    counts: Annotated[Path | None, typer.Option(help=f"What was counted; {COUNTED}.")] = None,
    format_: FormOption = None,
    output: OutputOption = None,
) -> None:
    """Estimate storage by Zipf's law and deduplication; counts of a real training make it better."""
    from flyball_planner.storage.estimator import StorageEstimator
    from flyball_reports.errors import InputError

    try:
        estimator = StorageEstimator(num_nodes=nodes, chunk_size=chunk_size, zipf_alpha=zipf_alpha)
        if counts is not None:
            estimator = _calibrated(estimator, counts)
        found = estimator.estimate_storage(samples, tokens)
    except InputError as error:
        raise CommandError(str(error), WRONG) from None
    tell(_told(found), format_, output)


def _calibrated(estimator: "StorageEstimator", path: Path) -> "StorageEstimator":
    import msgspec

    from flyball_planner.storage.learnt import LevelCount

    try:
        counted = msgspec.json.decode(read_text(path, COUNTED), type=list[LevelCount])
    except msgspec.MsgspecError as error:
        raise CommandError(f"--counts {path}: {error}; {COUNTED}", WRONG) from None
    if not counted:
        raise CommandError(f"--counts {path} holds no level; {COUNTED}", WRONG)
    return estimator.calibrated(counted)


def _told(found: "StorageEstimate") -> CommandResult:
    from flyball_reports.figures import count, size, spread
    from flyball_reports.section import Section, Table

    rows = tuple(
        (each.name, count(each.observations), spread(each.unique_patterns, count), f"{100 * each.deduplication:.1f} %",
         f"{each.bytes_a_pattern:,.0f} B", spread(each.storage, size))
        for each in found.level_estimates
    )  # fmt: skip
    heads = ("Level", "Observed", "Stored patterns", "Deduplicated", "A pattern", "On disk")
    sections = (
        Section("", (f"{spread(found.storage, size)} in all for {found.samples:,} samples.",)),
        Section("Levels", tables=(Table(rows, heads, (1, 2, 3, 4, 5)),)),
        Section("Assumptions", points=found.reasons),
    )
    return CommandResult("Storage", sections, _document(found), lambda: {"Levels": _chart(found)})


def _document(found: "StorageEstimate") -> dict[str, Any]:
    levels = [{"name": each.name, "storage_mb": each.storage_mb, **to_builtins(each)} for each in found.level_estimates]
    return {
        "samples": found.samples,
        "total_storage_gb": found.total_storage_gb,
        "storage_bytes": to_builtins(found.storage),
        "level_estimates": levels,
        "assumptions": list(found.reasons),
    }


def _chart(found: "StorageEstimate") -> "Chart":
    """How often the pattern of each rank is seen, on logarithmic axes."""
    from flyball_reports.line_chart import Line, lines_chart

    lines = [Line(each.name, _points(each)) for each in found.level_estimates]
    caption = "Frequency of patterns by rank: Zipf's law, C / rank^α, at each level."
    return lines_chart("distribution", caption, ("rank", "frequency"), lines)


def _points(level: "LevelEstimate") -> tuple[tuple[float, float], ...]:
    ranks, frequencies = level.distribution()
    return tuple((float(x), float(y)) for x, y in zip(ranks, frequencies, strict=True))
