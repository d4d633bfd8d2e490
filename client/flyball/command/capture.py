"""`flyball capture`: stacks, a trace or memory of a rank that runs."""

import re
import time
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from flyball.command.api import DEFAULT_URL, Api, CaFileOption, CollectorOption, TokenFileOption, open_api, segment
from flyball.command.errors import CommandError, WrongArgument
from flyball.command.output import FormatOption, OutputFormat, check_writable, write_json, write_view
from flyball.command.printable import printable
from flyball.command.readings import DASH, utc_time
from flyball_reports.errors import write_fault
from flyball_reports.figures import plural, size

EXAMPLES = (
    "flyball capture llama-7b-3  # where all ranks are now",
    "flyball capture llama-7b-3 --rank 3 --what trace --steps 5",
    "flyball capture llama-7b-3 --list",
    "flyball capture --id 3f2a9c0d4b1e6f70 --output stacks.txt",
)
MAX_STEPS = 1000
_POLL_SECONDS = 0.3
_LISTED = 100
_TEXTS = (".txt", ".json", ".yaml")
_SIZE = re.compile(r"(\d+)\s*([KMG]?)(i?B)?", re.IGNORECASE)
_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}


class What(StrEnum):
    """The kinds of captures."""

    STACKS = "stacks"
    TRACE = "trace"
    SYNCS = "syncs"
    MEMORY = "memory"
    MEASURE = "measure"


def capture(
    run: Annotated[str, typer.Argument(metavar="[RUN]", help="A run, as `flyball runs` lists it.")] = "",
    rank: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Only this rank.  [default: stacks of all ranks; else the lowest rank]"),
    ] = None,
    what: Annotated[What, typer.Option(help="What to capture.")] = What.STACKS,
    steps: Annotated[
        int | None,
        typer.Option(
            min=1, max=MAX_STEPS, metavar="N", help="Number of steps.  [default: trace 3, syncs 10, measure 50]"
        ),
    ] = None,
    max_bytes: Annotated[
        str, typer.Option("--max-bytes", metavar="SIZE", help="Limit of the result, such as 64M.")
    ] = "64M",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="A new file; of several ranks, a folder.  [default: texts are printed]",
        ),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", "-l", help="List earlier captures instead.")] = False,
    id_: Annotated[str, typer.Option("--id", metavar="ID", help="Fetch an earlier capture instead.")] = "",
    format_: FormatOption = OutputFormat.TABLE,
    url: CollectorOption = DEFAULT_URL,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
) -> None:
    """Capture stacks, a trace of some steps, synchronising calls, memory or measured facts of a running training.

    The training goes on. Stacks need nothing from it; everything else needs a training that reports to its agent, and
    waits for its next steps. Ordering and fetching need an operator's token.
    """
    api = open_api(url, token_file, ca_file)
    limit = byte_count(max_bytes)
    if list_:
        return _list(api, run, format_)
    if id_:
        found = api.get(f"captures/{segment(id_)}")
        _check_output(output, several=False)
        return _finish(api, [found], output, format_)
    if not run:
        raise WrongArgument("name a run, as `flyball runs` lists it; or use --list or --id")
    _check_output(output, several=rank is None and what is What.STACKS)
    body = {"run": run, "what": what.value, "rank": rank, "steps": steps or 0, "max_bytes": limit}
    ordered = api.post("captures", body)["captures"]
    return _finish(api, list(_followed(api, ordered)), output, format_)


def byte_count(text: str) -> int:
    """Return a size in bytes: 64M is 67,108,864."""
    found = _SIZE.fullmatch(text.strip())
    if found is None or not int(found[1]):
        raise WrongArgument(f"--max-bytes {printable(text)}: expected a size such as 500K, 64M or 1G")
    return int(found[1]) * _UNITS[found[2].upper()]


def _followed(api: Api, ordered: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the captures when they are over. Each change is reported on the standard error."""
    shown: dict[str, str] = {}
    for first in ordered:
        capture_ = first
        while True:
            words = _progress(capture_)
            if shown.get(capture_["id"]) != words:
                shown[capture_["id"]] = words
                typer.echo(words, err=True)
            if capture_["state"] in {"done", "failed"}:
                break
            time.sleep(_POLL_SECONDS)
            capture_ = api.get(f"captures/{segment(first['id'])}")
        yield capture_


def _progress(found: dict[str, Any]) -> str:
    detail = f": {printable(found['detail'])}" if found["detail"] else ""
    return f"{_place(found)}: {found['state']}{detail}"


def _place(found: dict[str, Any]) -> str:
    rank = "process" if found["rank"] is None else f"rank {found['rank']}"
    return f"{rank} on {printable(found['host'])}"


def _finish(api: Api, found: Sequence[dict[str, Any]], output: Path | None, format_: OutputFormat) -> None:
    """Print or write the results. Raise an error if there is none, or one has failed."""
    done = [each for each in found if each["state"] == "done"]
    failed = [each for each in found if each["state"] != "done"]
    results = [_result(api, each, output, several=len(found) > 1) for each in done]
    if format_ is OutputFormat.JSON:
        write_json({"captures": [*results, *failed]})
    else:
        for result in results:
            _show(result)
    if failed:
        reasons = [f"{_place(each)}: {printable(each['detail']) or each['state']}" for each in failed]
        raise CommandError("\n".join(reasons))


def _result(api: Api, found: dict[str, Any], output: Path | None, *, several: bool) -> dict[str, Any]:
    """Return a capture with its text, or with the path to which it was written."""
    body = api.download(f"captures/{segment(found['id'])}/file")
    name = Path(printable(found["file_name"])).name
    if output is None and name.endswith(_TEXTS):
        return {**found, "text": body.decode("utf-8", "replace")}
    path = output / name if output is not None and several else output or Path(name)
    if path.exists():
        raise CommandError(f"{path} exists already; name another file with --output. The capture is {found['id']}")
    try:
        if several and output is not None:
            output.mkdir(exist_ok=True)
        path.write_bytes(body)
    except OSError as error:
        raise CommandError(write_fault(path, error)) from None
    return {**found, "path": str(path)}


def _show(result: dict[str, Any]) -> None:
    if "path" in result:
        return typer.echo(f"Wrote {result['path']} ({size(result['bytes'])}).")
    lines = result["text"].rstrip("\n").split("\n")
    return typer.echo("\n".join(printable(line) for line in lines) + "\n")


def _list(api: Api, run: str, format_: OutputFormat) -> None:
    answer = api.get("captures", {"run": run, "limit": _LISTED})
    if format_ is OutputFormat.JSON:
        return write_json(answer)
    if not answer["captures"]:
        return typer.echo("No captures.")
    table = Table("ID", "ORDERED", "RUN", "RANK", "HOST", "WHAT", "STATE", "SIZE", "DETAIL", box=None, pad_edge=False)
    for each in answer["captures"]:
        table.add_row(*(Text(printable(cell)) for cell in _row(each)))
    write_view(table)
    return typer.echo(plural(answer["total"], "capture"))


def _row(found: dict[str, Any]) -> tuple[str, ...]:
    return (
        found["id"],
        utc_time(found["ordered"]["rfc3339"]),
        found["run"],
        DASH if found["rank"] is None else str(found["rank"]),
        found["host"],
        found["what"],
        found["state"],
        DASH if found["bytes"] is None else size(found["bytes"]),
        found["detail"],
    )


def _check_output(output: Path | None, *, several: bool) -> None:
    """Raise before anything is captured if the result cannot be written."""
    if output is None:
        return
    if several and output.is_dir():
        return
    check_writable("--output", output)
    if output.exists():
        raise CommandError(f"{output} exists already; name another file with --output")
