"""`flyball analyze`: what this machine has, how good it is for training, and what to change."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flyball.command.errors import CommandError, WrongArgument
from flyball.command.output import (
    CommandResult,
    OutputOption,
    ResultFormat,
    ResultFormatOption,
    VerboseOption,
    format_of,
    write_new,
    write_result,
)

if TYPE_CHECKING:
    from flyball.host.benchmarks.benchmark_names import BenchmarkProgress
    from flyball.host.hardware_profile import HardwareProfile
    from flyball.host_review.host_finding import Surroundings
    from flyball.host_review.host_review import HostReview

EXAMPLES = (
    "flyball analyze",
    "flyball analyze --benchmark --output host.html",
    "flyball analyze --generate-configs --write configurations/",
    "flyball analyze --from host.json  # review a machine whose --format json was saved",
)
DEFAULT_FOLDER = Path("configurations")


def analyze(
    profile_only: Annotated[
        bool, typer.Option("--profile-only", help="Measure nothing and propose no configurations.")
    ] = False,
    generate_configs: Annotated[
        bool, typer.Option("--generate-configs", help="Write the three configurations as specifications.")
    ] = False,
    benchmark: Annotated[
        bool, typer.Option("--benchmark", help="Measure processor, memory, disk, network, MongoDB and GPUs.")
    ] = False,
    write: Annotated[
        Path | None,
        typer.Option(
            "--write", "-w", metavar="FOLDER", help="Folder of --generate-configs.  [default: configurations]"
        ),
    ] = None,
    folder: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the training would run.")] = Path(),
    from_: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="Review a saved profile (--format json) instead of this machine."),
    ] = None,
    mongodb: Annotated[str, typer.Option(metavar="URL", help="The MongoDB to measure.")] = "",
    service: Annotated[str, typer.Option(metavar="URL", help="A service whose round trip is measured.")] = "",
    download: Annotated[str, typer.Option(metavar="URL", help="A file to measure the download rate with.")] = "",
    format_: ResultFormatOption = None,
    output: OutputOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Show what this machine has, its score out of ten, three configurations, warnings and what to change."""
    _check(from_, profile_only=profile_only, generate_configs=generate_configs, benchmark=benchmark)
    if write is not None and not generate_configs:
        raise WrongArgument("--write names the folder of --generate-configs; add that option")
    page = format_of(format_, output) is ResultFormat.HTML
    if from_ is not None:
        profile, around = saved_profile(from_), None
    else:
        profile, around = _this_machine(folder, (mongodb, service, download), benchmark=benchmark)
    review = _review(profile, around, with_configurations=not profile_only)
    written = _write_configurations(review, write or DEFAULT_FOLDER) if generate_configs else ()
    write_result(_result(review, written, verbose=verbose, page=page), format_, output)


def _check(from_: Path | None, *, profile_only: bool, generate_configs: bool, benchmark: bool) -> None:
    if profile_only and benchmark:
        raise WrongArgument("--profile-only measures nothing; leave out --benchmark")
    if profile_only and generate_configs:
        raise WrongArgument("--profile-only proposes no configurations; leave out --generate-configs")
    if from_ is not None and benchmark:
        raise WrongArgument("--from reviews a saved profile; --benchmark can only measure this machine")


def saved_profile(path: Path) -> "HardwareProfile":
    """Read a profile, alone or within the JSON of a review."""
    import json

    from flyball.command.specifications import read_text
    from flyball.host.profile_file import read_profile
    from flyball_reports.errors import InputError

    try:
        document = json.loads(read_text(path, "`flyball analyze --format json` writes one"))
    except json.JSONDecodeError as error:
        raise WrongArgument(f"--from {path}: not valid JSON: {error}") from None
    inner = document.get("profile", document) if isinstance(document, dict) else None
    if not isinstance(inner, dict):
        raise WrongArgument(f"--from {path}: not a profile; `flyball analyze --format json` writes one")
    try:
        return read_profile(inner)
    except InputError as error:
        raise WrongArgument(f"--from {path}: {error}") from None


def _this_machine(
    folder: Path, urls: tuple[str, str, str], *, benchmark: bool
) -> "tuple[HardwareProfile, Surroundings]":
    from flyball.command.analyze_surroundings import read_surroundings
    from flyball.host.hardware_analyzer import HardwareAnalyzerV2

    if not folder.is_dir():
        raise WrongArgument(f"--folder {folder}: there is no such folder; create it, or name another")
    mongodb, service, download = (url or None for url in urls)
    try:
        analyzer = HardwareAnalyzerV2(folder, mongodb_url=mongodb, service_url=service, download_url=download)
    except ImportError as error:
        raise CommandError(str(error)) from None
    profile = analyzer.analyze_full(benchmarks=benchmark, progress=write_progress if benchmark else None)
    return profile, read_surroundings()


def write_progress(step: "BenchmarkProgress") -> None:
    """Write a line for each benchmark to the standard error: its name first, then how it ended."""
    if step.seconds is None:
        typer.echo(f"{step.number}/{step.total} {step.title} … ", err=True, nl=False)
    else:
        typer.echo(f"not measured: {step.reason}" if step.reason else f"{step.seconds:.1f} s", err=True)


def _review(profile: "HardwareProfile", around: "Surroundings | None", *, with_configurations: bool) -> "HostReview":
    from flyball.host_review.host_review import NOTHING, propose, review_host

    return review_host(profile, around, propose(profile) if with_configurations else NOTHING)


def _result(review: "HostReview", written: "tuple[Path, ...]", *, verbose: bool, page: bool) -> CommandResult:
    from flyball.command.analyze_charts import review_charts
    from flyball.command.analyze_document import review_document
    from flyball.command.analyze_sections import review_sections

    review = _naming_files(review, written)
    document = {**review_document(review), "written": [str(path) for path in written]}
    sections = review_sections(review, verbose=verbose, bars=not page)
    footer = "Figures of configurations are estimates; flyball plan shows their intervals."
    return CommandResult("Host analysis", sections, document, lambda: review_charts(review), footer)


def _naming_files(review: "HostReview", written: "tuple[Path, ...]") -> "HostReview":
    """Return the review with the command that plans the recommended file, if it was written."""
    from msgspec.structs import replace

    from flyball.host_review.host_review import WRITES_IT

    file = next((path for path in written if path.name == f"{review.recommended}.yaml"), None)
    if file is None:
        return review
    shown = f"`flyball plan {file}` shows its estimates"
    return replace(review, next_steps=tuple(step.replace(WRITES_IT, shown) for step in review.next_steps))


def _write_configurations(review: "HostReview", folder: Path) -> "tuple[Path, ...]":
    from flyball.command.analyze_files import configuration_files

    if not review.proposal.configurations:
        raise CommandError(f"no configurations to write: {review.proposal.because}")
    files = {folder / name: text for name, text in configuration_files(review).items()}
    write_new(files)
    return tuple(files)
