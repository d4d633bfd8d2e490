"""`flyball audit PATH…`: code that slows a training down, with changes."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flyball.command.errors import WrongArgument
from flyball.command.output import OutputOption, VerboseOption, write_file
from flyball.command.printable import printable
from flyball_audit.choices import SUFFIXES, FailOn, ReviewFormat

if TYPE_CHECKING:
    from flyball_audit.evidence import Evidence
    from flyball_audit.finding import Finding
    from flyball_audit.review import OnFile, Review
    from flyball_audit.settings import Settings

EXAMPLES = (
    "flyball audit train.py",
    "flyball audit src -o audit.html",
    "flyball audit . --diff | git apply",
    "flyball audit src --evidence measured.yaml",
    "flyball audit --run -- python train.py",
)
_PROGRESS_AFTER_SECONDS = 1.0
"""The progress is shown after this time."""


def audit(
    words: Annotated[list[str], typer.Argument(metavar="PATH…", help="Python files, notebooks or folders.")],
    output: OutputOption = None,
    format_: Annotated[
        ReviewFormat | None,
        typer.Option(
            "--format",
            "-f",
            metavar=f"<{'|'.join(each for each in ReviewFormat if each is not ReviewFormat.TERMINAL)}>",
            help="Output format.  [default: by the suffix of --output, else table]",
        ),
    ] = None,
    fail_on: Annotated[
        FailOn | None, typer.Option("--fail-on", help="Minimum severity for exit status 1.  [default: warning]")
    ] = None,
    diff: Annotated[bool, typer.Option("--diff", help="Print only the changes, as patches.")] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Apply the changes that do not affect results.")] = False,
    evidence: Annotated[
        Path | None,
        typer.Option("--evidence", metavar="FILE", help="Measurements (YAML, JSON) that confirm or withdraw findings."),
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option("--select", metavar="RULES", help="Only these rules: names or patterns, separated by commas."),
    ] = None,
    ignore: Annotated[list[str] | None, typer.Option("--ignore", metavar="RULES", help="Skip these rules.")] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            "-c",
            metavar="FILE",
            help="Settings file.  [default: flyball-audit.toml or pyproject.toml in a folder above]",
        ),
    ] = None,
    run: Annotated[
        bool,
        typer.Option("--run", help="Run the command behind `--`, measure 50 of its steps, and audit its script."),
    ] = False,
    verbose: VerboseOption = False,
) -> None:
    """Read code without running it, find what slows a training down, and propose changes.

    Exit status: 0 if no finding reaches --fail-on, 1 if one does, 2 for wrong arguments.
    """
    if diff and (fix or format_ or output):
        raise WrongArgument("--diff prints only patches; leave out --fix, --format and --output")
    form = _format_of(format_, output)
    choice = AuditChoice(form, output, fail_on, config, select or [], ignore or [], diff=diff, fix=fix, verbose=verbose)
    if not run:
        return _audit([Path(word) for word in words], evidence, choice)
    if evidence:
        raise WrongArgument("--run measures by itself; leave out --evidence")
    from flyball.command.measured_run import measured_run

    with measured_run(words) as measured:
        return _audit(measured.scripts, measured.evidence, choice)


@dataclass(frozen=True, slots=True)
class AuditChoice:
    """The options of the command line."""

    form: ReviewFormat
    output: Path | None
    fail_on: FailOn | None
    config: Path | None
    select: Sequence[str]
    ignore: Sequence[str]
    diff: bool
    fix: bool
    verbose: bool


def _audit(paths: Sequence[Path], evidence: Path | None, choice: AuditChoice) -> None:
    from flyball_reports.errors import InputError

    for path in paths:
        if not path.exists():
            raise WrongArgument(f"there is no file or folder {path}")
    try:
        settings = _settings(paths, choice.config, choice.select, choice.ignore, choice.fail_on)
        found = _reviewed(paths, settings, _evidence(evidence or settings.evidence), fix=choice.fix)
        if choice.diff:
            _print_patches(found)
        elif found.files or choice.output or choice.form is not ReviewFormat.TABLE:
            _write(found, choice.form, choice.output, verbose=choice.verbose)
    except InputError as error:
        raise WrongArgument(str(error)) from None
    if not found.files:
        raise WrongArgument(_nothing_audited(found, paths))
    if any(settings.fail_on.reached_by(each.severity) for each in found.findings):
        raise typer.Exit(1)


def _format_of(form: ReviewFormat | None, output: Path | None) -> ReviewFormat:
    """Return the requested format, or else the one of the file's suffix."""
    if form is ReviewFormat.TERMINAL:
        return ReviewFormat.TABLE
    if form or output is None:
        return form or ReviewFormat.TABLE
    suffix = output.suffix.lower()
    if suffix and suffix not in SUFFIXES:
        raise WrongArgument(
            f"--output {output}: {suffix} is not a known format; use {', '.join(SUFFIXES)}, or add --format"
        )
    return SUFFIXES.get(suffix, ReviewFormat.MARKDOWN)


def _nothing_audited(found: "Review", paths: Sequence[Path]) -> str:
    """Return why no file was audited: each file that cannot be read, with its reason."""
    listed = ", ".join(map(str, paths))
    unread = [f"\n  {printable(str(each))}" for each in (*found.unreadable, *found.failures)]
    why = f":{''.join(unread)}" if unread else f": there is no Python file or notebook in {listed}"
    return f"nothing was audited{why}"


def _settings(
    paths: Sequence[Path], config: Path | None, select: Sequence[str], ignore: Sequence[str], fail_on: FailOn | None
) -> "Settings":
    """Return the settings of the file; options of the command line override them."""
    from flyball_audit.review import KNOWN_RULES
    from flyball_audit.settings import find_settings, load_settings, rules_named

    if config is None:
        settings, _ = find_settings(paths, KNOWN_RULES)
    else:
        stated = load_settings(config, KNOWN_RULES)
        if stated is None:
            raise WrongArgument(f"--config {config} has no table [tool.flyball.audit]")
        settings = stated
    if select:
        settings = replace(settings, select=rules_named(_names(select), KNOWN_RULES))
    ignored = settings.ignore | rules_named(_names(ignore), KNOWN_RULES)
    return replace(settings, ignore=ignored, fail_on=fail_on or settings.fail_on)


def _names(words: Sequence[str]) -> list[str]:
    return [name.strip() for each in words for name in each.split(",") if name.strip()]


def _evidence(path: Path | None) -> "Evidence | None":
    from flyball_audit.evidence import load_evidence

    return load_evidence(path) if path else None


def _reviewed(paths: Sequence[Path], settings: "Settings", evidence: "Evidence | None", *, fix: bool) -> "Review":
    """Return the review, with --fix after the safe changes."""
    from flyball_audit.fix import fix as write_safe_changes
    from flyball_audit.review import review

    with _progress() as on_file:
        reviews = [review(paths, settings, evidence, on_file=on_file)]

        def again() -> "tuple[Finding, ...]":
            reviews.append(review(paths, settings, evidence, on_file=on_file))
            return reviews[-1].findings

        fixed = write_safe_changes(reviews[0].findings, again).findings if fix else ()
        return replace(reviews[-1], fixed=fixed)


@contextmanager
def _progress() -> "Iterator[OnFile]":
    """Show the current file on the standard error, if that is a terminal and the review takes long."""
    if not sys.stderr.isatty():
        yield lambda _path: None
        return
    from rich.console import Console
    from rich.markup import escape

    status = Console(stderr=True).status("reading")
    since = time.monotonic()

    def on_file(path: str) -> None:
        if time.monotonic() - since > _PROGRESS_AFTER_SECONDS:
            status.update(f"reading {escape(printable(path))}")
            status.start()

    try:
        yield on_file
    finally:
        status.stop()


def _write(review: "Review", form: ReviewFormat, output: Path | None, *, verbose: bool) -> None:
    from flyball_audit.fix import patcher
    from flyball_audit.report.render import render

    if output is None and form is ReviewFormat.TABLE and sys.stdout.isatty():
        return _show(review, verbose=verbose)
    text = render(review, form, patcher(), verbose=verbose)
    return typer.echo(text, nl=False) if output is None else write_file(output, text)


def _show(review: "Review", *, verbose: bool) -> None:
    """Print the review in colours and with the width of the terminal."""
    from rich.console import Console
    from rich.text import Text

    from flyball_audit.report.terminal import terminal

    console = Console()
    for line in terminal(review, console.width, verbose=verbose):
        console.print(Text.assemble(*line))


def _print_patches(review: "Review") -> None:
    """Print patches for `git apply` and `patch`, which skip the remarks between them."""
    from flyball_audit.fix import staged

    for safe, other in staged(review.findings):
        for remark, each in (("does not affect results, --fix applies it", safe), ("check before you apply it", other)):
            if each.diff:
                rules = ", ".join(dict.fromkeys(finding.rule for finding in each.fixed))
                _print(f"# {each.file.path}: {rules}: {remark}\n{each.diff}")
        for finding, reason in other.left:
            typer.echo(f"{printable(finding.place)}: {finding.rule}: no patch: {reason}", err=True)


def _print(text: str) -> None:
    """Print text unchanged to a file; on a terminal without control characters."""
    if sys.stdout.isatty():
        text = "\n".join(map(printable, text.replace("\t", "    ").split("\n")))
    typer.echo(text.encode(), nl=False)
