"""Typer commands and groups whose help looks like that of the daemons."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from flyball.command.usage_errors import range_text

if TYPE_CHECKING:
    from flyball_daemon.help_page import Rows

_FEW = 6  # so many names fit into a message
CONTEXT = {"help_option_names": ["-h", "--help"]}


def add_command(app: typer.Typer, name: str, function: Callable[..., Any], examples: Iterable[str]) -> None:
    """Add a function to a group as a command."""
    app.command(name, cls=HelpCommand, epilog="\n".join(examples), context_settings=CONTEXT)(function)


def command_group(summary: str, kind: "type[HelpGroup] | None" = None) -> typer.Typer:
    """Return a group of commands without members; its help lists the examples of all members."""
    app = typer.Typer(
        cls=kind or HelpGroup,
        help=summary,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        context_settings=CONTEXT,
    )
    app.callback()(_no_options)  # without it, Typer would turn a group of one command into that command
    return app


def _no_options() -> None:
    pass


class HelpCommand(TyperCommand):
    """A command with our help."""

    def get_help(self, ctx: typer.Context) -> str:  # type: ignore[override]  # Typer's own context class is private
        """Return the help text."""
        return help_text(self, ctx, [], (self.epilog or "").splitlines())


class HelpGroup(TyperGroup):
    """A group of commands with our help, which answers an unknown name with similar ones."""

    def resolve_command(  # type: ignore[override]  # Typer's own context class is private
        self, ctx: typer.Context, args: list[str]
    ) -> tuple[str | None, Any, list[str]]:
        """Return the command that the arguments begin with."""
        from flyball_daemon.suggestion import suggestion

        command = self.get_command(ctx, args[0])
        if command is None and not ctx.resilient_parsing:
            names = self.list_commands(ctx)
            hint = suggestion(args[0], names, most=2) or ("" if len(names) > _FEW else f"; expected {', '.join(names)}")
            ctx.fail(f"there is no command {args[0]!r}{hint}")
        return args[0] if command else None, command, args[1:]

    def get_help(self, ctx: typer.Context) -> str:  # type: ignore[override]  # Typer's own context class is private
        """Return the help text."""
        members = list(self.commands.values())
        rows = [(each.name or "", each.get_short_help_str(200)) for each in members]
        examples = [line for each in members for line in (each.epilog or "").splitlines()]
        return help_text(self, ctx, [("Commands", rows)], examples)


def plain(text: str) -> str:
    """Return a help text of Typer with ranges in words, and defaults without needless digits."""
    text = re.sub(r"[-+\d.e]*(?:<=?)?x[<>]=?[-+\d.e]+", lambda found: range_text(found[0]), text)
    return re.sub(r"(default: \d+)\.0\b", r"\1", text).replace("]  [", "; ")


def _without_brackets(term: str) -> str:
    """Return the name of an argument without the brackets of an optional one."""
    while term.startswith("[") and term.endswith("]"):
        term = term[1:-1]
    return term


def help_text(
    command: TyperCommand | TyperGroup,
    context: typer.Context,
    commands: "Sequence[tuple[str, Rows]]",
    examples: Sequence[str],
    *,
    options_last: bool = False,
) -> str:
    """Return the help text of a command; that of a group lists its commands."""
    from flyball_daemon.help_page import HelpPage, help_width

    rows: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
    for parameter in command.get_params(context):
        if record := parameter.get_help_record(context):
            rows[parameter.param_type_name].append((_without_brackets(record[0]), plain(record[1])))
    pieces = (piece.strip("{}") for piece in command.collect_usage_pieces(context))  # Typer marks what is required
    usage = " ".join([context.command_path, *pieces])
    sections = [("Arguments", rows["argument"]), ("Options", rows["option"]), *commands]
    if options_last:
        sections = [*commands, ("Options", rows["option"])]
    return HelpPage(usage, command.help or "", sections, examples).text(help_width()).rstrip("\n")
