"""`flyball audit PATH…`: what will make a training slow, read from its code, with the change to make."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flyball.command.errors import CommandError
from flyball.command.output import OutputOption, VerboseOption, write_file
from flyball.command.specifications import WRONG
from flyball.command.words import clean
from flyball_audit.choices import SUFFIXES, FailOn, ReviewFormat

if TYPE_CHECKING:
    from flyball_audit.evidence import Evidence
    from flyball_audit.finding import Finding
    from flyball_audit.review import OnFile, Review
    from flyball_audit.settings import Settings

EXAMPLE = (
    "Examples: flyball audit train.py; flyball audit src -o audit.html; flyball audit . --diff | git apply; "
    "flyball audit src --evidence measured.yaml. Exit status: 0 nothing of --fail-on; 1 something; 2 wrong use."
)
_SILENT_SECONDS = 1.0
"""How long nothing is said about what is being read."""


def audit(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH…", help="Python files, notebooks, folders of them.")],
    output: OutputOption = None,
    format_: Annotated[
        ReviewFormat | None, typer.Option("--format", "-f", help="Else by --output's suffix, else for the terminal.")
    ] = None,
    fail_on: Annotated[
        FailOn | None, typer.Option("--fail-on", help="End with 1 from this severity on; else `warning`.")
    ] = None,
    diff: Annotated[bool, typer.Option("--diff", help="Print the changes as patches, and nothing else.")] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Write the changes that leave results as they are.")] = False,
    evidence: Annotated[
        Path | None, typer.Option("--evidence", help="Measured facts (YAML, JSON) that confirm or withdraw findings.")
    ] = None,
    select: Annotated[
        list[str] | None, typer.Option("--select", help="Only these rules; names, patterns, commas.")
    ] = None,
    ignore: Annotated[list[str] | None, typer.Option("--ignore", help="Not these rules.")] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", help="Settings; else flyball-audit.toml or pyproject.toml above the paths."),
    ] = None,
    verbose: VerboseOption = False,
) -> None:
    """Find what will slow a training down by reading its code, which is never run; say what to change."""
    from flyball_reports.errors import InputError

    if diff and (fix or format_ or output):
        raise CommandError("--diff prints patches alone: leave out --fix, --format and --output", WRONG)
    for path in paths:
        if not path.exists():
            raise CommandError(f"there is no file or folder {path}", WRONG)
    try:
        settings = _settings(paths, config, select or [], ignore or [], fail_on)
        found = _reviewed(paths, settings, _evidence(evidence or settings.evidence), fix=fix)
        if diff:
            _print_patches(found)
        else:
            _tell(found, format_, output, verbose=verbose)
    except InputError as error:
        raise CommandError(str(error), WRONG) from None
    if not found.files:
        told = ", ".join(map(str, paths))
        raise CommandError(f"nothing was audited: no Python file or notebook could be read in {told}", WRONG)
    if any(settings.fail_on.reached_by(each.severity) for each in found.findings):
        raise typer.Exit(1)


def _settings(
    paths: Sequence[Path], config: Path | None, select: Sequence[str], ignore: Sequence[str], fail_on: FailOn | None
) -> "Settings":
    """The file's settings; what the command line says of rules comes first."""
    from flyball_audit.review import KNOWN_RULES
    from flyball_audit.settings import find_settings, load_settings, rules_named

    if config is None:
        settings, _ = find_settings(paths, KNOWN_RULES)
    else:
        stated = load_settings(config, KNOWN_RULES)
        if stated is None:
            raise CommandError(f"{config} has no table [tool.flyball.audit]", WRONG)
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
    """The review; after the safe changes, if they are wanted."""
    from flyball_audit.fix import fix as write_safe_changes
    from flyball_audit.review import review

    with _progress() as on_file:
        reviews = [review(paths, settings, evidence, on_file=on_file)]

        def again() -> "tuple[Finding, ...]":
            reviews.append(review(paths, settings, evidence, on_file=on_file))
            return reviews[-1].findings

        fixed = write_safe_changes(reviews[0].findings, again).findings if fix else ()
        return replace(reviews[-1], mended=fixed)


@contextmanager
def _progress() -> "Iterator[OnFile]":
    """Says on the standard error which file is read, where that is a terminal and it takes long."""
    if not sys.stderr.isatty():
        yield lambda _path: None
        return
    from rich.console import Console
    from rich.markup import escape

    status = Console(stderr=True).status("reading")
    since = time.monotonic()

    def on_file(path: str) -> None:
        if time.monotonic() - since > _SILENT_SECONDS:
            status.update(f"reading {escape(clean(path))}")
            status.start()

    try:
        yield on_file
    finally:
        status.stop()


def _tell(review: "Review", form: ReviewFormat | None, output: Path | None, *, verbose: bool) -> None:
    from flyball_audit.fix import patcher
    from flyball_audit.report.render import render

    form = form or (SUFFIXES.get(output.suffix.lower(), ReviewFormat.MARKDOWN) if output else ReviewFormat.TERMINAL)
    if output is None and form is ReviewFormat.TERMINAL and sys.stdout.isatty():
        return _show(review, verbose=verbose)
    text = render(review, form, patcher(), verbose=verbose)
    return typer.echo(text, nl=False) if output is None else write_file(output, text)


def _show(review: "Review", *, verbose: bool) -> None:
    """In colours, as wide as the terminal is."""
    from rich.console import Console
    from rich.text import Text

    from flyball_audit.report.terminal import terminal

    console = Console()
    for line in terminal(review, console.width, verbose=verbose):
        console.print(Text.assemble(*line))


def _print_patches(review: "Review") -> None:
    """For `git apply` and `patch`, which pass over the lines of words between them."""
    from flyball_audit.fix import staged

    for safe, other in staged(review.findings):
        for words, each in (("results stay as they are, --fix writes it", safe), ("look first", other)):
            if each.diff:
                rules = ", ".join(dict.fromkeys(finding.rule for finding in each.mended))
                _print(f"# {each.file.path}: {rules}: {words}\n{each.diff}")
        for finding, reason in other.left:
            typer.echo(f"{clean(finding.place)}: {finding.rule}: no patch: {reason}", err=True)


def _print(text: str) -> None:
    """As it is into a file; on a screen without what would steer it."""
    if sys.stdout.isatty():
        text = "\n".join(map(clean, text.replace("\t", "    ").split("\n")))
    typer.echo(text.encode(), nl=False)
