"""`flyball completion`: completion of commands and options in the shell."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from typer.completion import get_completion_script, install  # type: ignore[attr-defined]  # imported there

from flyball.command.errors import CommandError, WrongArgument

EXAMPLES = (
    'eval "$(flyball completion bash)"  # for this shell only',
    "flyball completion bash --install  # for all new shells",
    "flyball completion fish > ~/.config/fish/completions/flyball.fish",
)


class Shell(StrEnum):
    """A shell that completion works in."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[
        Shell | None, typer.Argument(metavar="[SHELL]", help="bash, zsh or fish.  [default: that of $SHELL]")
    ] = None,
    install_: Annotated[
        bool, typer.Option("--install", help="Write the script to your home folder, and load it in new shells.")
    ] = False,
) -> None:
    """Print the script that completes commands and options in your shell, or install it."""
    name = (shell or _current_shell()).value
    if not install_:
        return typer.echo(get_completion_script(prog_name="flyball", complete_var="_FLYBALL_COMPLETE", shell=name))
    try:
        _, path = install(shell=name, prog_name="flyball", complete_var="_FLYBALL_COMPLETE")
    except OSError as error:
        raise CommandError(f"cannot write {error.filename}: {error.strerror}") from None
    return typer.echo(f"Installed {path}. Completion works in new shells.")


def _current_shell() -> Shell:
    name = Path(os.environ.get("SHELL", "")).name
    if name not in list(Shell):
        raise WrongArgument("cannot find out which shell you use; name it: flyball completion bash, zsh or fish")
    return Shell(name)
