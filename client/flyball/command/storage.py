"""`flyball storage`: the storage that a hierarchical learner needs, by level."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import to_builtins

from flyball.command.errors import WrongArgument
from flyball.command.limits import (
    FEWEST_TOKENS,
    LARGEST_CHUNK,
    MOST_LEVELS,
    MOST_TOKENS,
    count_of_samples,
    finite,
)
from flyball.command.output import CommandResult, OutputOption, ResultFormatOption, write_result
from flyball.command.specifications import read_text

if TYPE_CHECKING:
    from flyball_planner.storage.estimator import LevelEstimate, StorageEstimate, StorageEstimator
    from flyball_reports.section import Chart

EXAMPLES = ("flyball storage --samples 1000000 --tokens 500", "flyball storage -n 1000000 -t 500 -o storage.html")

COUNTS_FORMAT = "a list in JSON, [{level, observations, unique, storage_bytes}, …]"


def storage(
    samples: Annotated[
        int,
        typer.Option(
            "--samples", "-n", metavar="NUMBER", parser=count_of_samples, help="Samples to learn, such as 1e6."
        ),
    ],
    tokens: Annotated[
        float,
        typer.Option(
            "--tokens",
            "-t",
            metavar="NUMBER",
            min=FEWEST_TOKENS,
            max=MOST_TOKENS,
            callback=finite,
            help="Mean tokens of a sample.",
        ),
    ],
    nodes: Annotated[int, typer.Option(metavar="NUMBER", min=1, max=MOST_LEVELS, help="Levels of the hierarchy.")] = 4,
    chunk_size: Annotated[
        int, typer.Option(metavar="NUMBER", min=2, max=LARGEST_CHUNK, help="Tokens or patterns in one pattern.")
    ] = 15,
    zipf_alpha: Annotated[
        float, typer.Option(metavar="NUMBER", callback=finite, help="Exponent of Zipf's law; near 1 for natural data.")
    ] = 1.0,
    counts: Annotated[
        Path | None, typer.Option(metavar="FILE", help=f"Measured counts of a training: {COUNTS_FORMAT}.")
    ] = None,
    format_: ResultFormatOption = None,
    output: OutputOption = None,
) -> None:
    """Estimate the storage of a hierarchical learner, which stores patterns of tokens, and patterns of these patterns.

    Zipf's law predicts how many patterns repeat and are stored only once. Counts of a real training improve the
    estimate.
    """
    from flyball_planner.storage.estimator import StorageEstimator
    from flyball_reports.errors import InputError

    try:
        estimator = StorageEstimator(num_nodes=nodes, chunk_size=chunk_size, zipf_alpha=zipf_alpha)
        if counts is not None:
            estimator = _calibrated(estimator, counts)
        found = estimator.estimate_storage(samples, tokens)
    except InputError as error:
        raise WrongArgument(str(error)) from None
    write_result(_result_of(found), format_, output)


def _calibrated(estimator: "StorageEstimator", path: Path) -> "StorageEstimator":
    import msgspec

    from flyball_planner.storage.level_counts import LevelCount

    try:
        counted = msgspec.json.decode(read_text(path, f"expected {COUNTS_FORMAT}"), type=list[LevelCount])
    except msgspec.MsgspecError as error:
        raise WrongArgument(f"--counts {path}: {error}. Expected {COUNTS_FORMAT}") from None
    if not counted:
        raise WrongArgument(f"--counts {path} has no levels. Expected {COUNTS_FORMAT}")
    return estimator.calibrated(counted)


def _result_of(found: "StorageEstimate") -> CommandResult:
    from flyball_reports.figures import count, size, spread
    from flyball_reports.section import ReportTable, Section

    rows = tuple(
        (each.name, count(each.observations), spread(each.unique_patterns, count), f"{100 * each.deduplication:.1f} %",
         f"{each.bytes_a_pattern:,.0f} B", spread(each.storage, size))
        for each in found.level_estimates
    )  # fmt: skip
    heads = ("Level", "Observed", "Stored patterns", "Deduplicated", "Pattern size", "On disk")
    sections = (
        Section("", (f"{spread(found.storage, size)} in total for {found.samples:,} samples.",)),
        Section("Levels", tables=(ReportTable(rows, heads, (1, 2, 3, 4, 5)),)),
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
    """Return a chart of the frequency of patterns by rank, on logarithmic axes."""
    from flyball_reports.line_chart import ChartLine, lines_chart

    lines = [ChartLine(each.name, _points(each)) for each in found.level_estimates]
    caption = "Frequency of patterns by rank: Zipf's law, C / rank^α, at each level."
    return lines_chart("distribution", caption, ("rank", "frequency"), lines)


def _points(level: "LevelEstimate") -> tuple[tuple[float, float], ...]:
    ranks, frequencies = level.distribution()
    return tuple((float(x), float(y)) for x, y in zip(ranks, frequencies, strict=True))
