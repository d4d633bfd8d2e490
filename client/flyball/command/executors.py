"""Executors for the runs of `flyball scale` and `flyball sweep`: this machine or a Dask cluster."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from flyball.command.errors import CommandError, WrongArgument

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from distributed import Client

    from flyball_planner.sweep.runner import OpenExecutor

LOCAL = "local"
CONNECT_SECONDS = 10.0

DaskOption = Annotated[
    str,
    typer.Option(
        "--dask", metavar="ADDRESS", help="Run on the Dask cluster of this scheduler; `local` starts one here."
    ),
]


def note_unused(command: "Sequence[str]", names: "Iterable[str]") -> None:
    """Report names whose values the command does not receive as arguments: it must read them from its environment."""
    for name in names:
        if not any(f"{{{name}}}" in word for word in command):
            typer.echo(
                f"flyball: the command does not contain {{{name}}}; it must read the variable FLYBALL_{name.upper()}",
                err=True,
            )


def refuse_unused(command: "Sequence[str]", names: "Iterable[str]") -> None:
    """Raise an error for names whose values cannot reach the command: every run would be the same."""
    from flyball_planner.sweep.command_inputs import unused_names

    for name in unused_names(command, names):
        variable = f"FLYBALL_{name.upper()}"
        raise WrongArgument(
            f"the command contains neither {{{name}}} nor {variable}, so every value of {name} would run the same; add "
            f"{{{name}}} to the command, or write `env {variable}={{{name}}}` before it if something that it starts "
            "reads the variable"
        )


@contextmanager
def reported_errors() -> "Iterator[None]":
    """Turn the errors of a measurement into those of the command line."""
    from flyball_planner.sweep.journal import WrongJournal
    from flyball_reports.errors import InputError

    try:
        yield
    except WrongJournal as error:
        raise WrongArgument(f"--journal: {error}") from None
    except InputError as error:
        raise CommandError(str(error)) from None


@contextmanager
def executors(dask: str, at_once: int) -> "Iterator[OpenExecutor]":
    """Yield a function that opens an executor. A cluster is connected once; one that was started here is stopped."""
    if not dask:
        yield partial(ThreadPoolExecutor, at_once)  # each command is a process; threads only wait for it
        return
    with _client(dask, at_once) as client:
        yield client.get_executor


@contextmanager
def _client(dask: str, at_once: int) -> "Iterator[Client]":
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise WrongArgument("--dask needs the package `distributed`: pip install distributed") from None
    if dask != LOCAL:
        try:
            connected = Client(dask, timeout=CONNECT_SECONDS)  # type: ignore[no-untyped-call]
        except (OSError, ValueError, TypeError) as error:
            raise CommandError(f"--dask {dask}: no scheduler answers ({error})") from None
        with connected:
            yield connected
        return
    with (
        LocalCluster(n_workers=at_once, threads_per_worker=1, dashboard_address=None) as cluster,  # type: ignore[no-untyped-call]
        Client(cluster) as connected,  # type: ignore[no-untyped-call]
    ):
        yield connected
