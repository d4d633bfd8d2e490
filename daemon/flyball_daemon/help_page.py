"""Help texts and usage errors: one style for the daemons, which parse with argparse, and for the commands."""

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from textwrap import wrap
from typing import Any, NoReturn

from flyball_daemon.suggestion import suggestion

Rows = Sequence[tuple[str, str]]

_TERM_COLUMNS = 26  # a longer term gets a line of its own
_WIDEST = 110
_UNLIMITED = 1_000_000


@dataclass(frozen=True, slots=True)
class HelpPage:
    """One help text: usage, description, tables of arguments, options or commands, and examples."""

    usage: str
    description: str  # paragraphs, separated by empty lines
    sections: Sequence[tuple[str, Rows]]
    examples: Sequence[str] = ()  # command lines; a remark follows behind "  # "

    def text(self, width: int) -> str:
        """Return the page with lines of at most `width` characters, as far as words allow."""
        lines = [f"Usage: {self.usage}"]
        for paragraph in self.description.split("\n\n"):
            lines += ["", *wrap(" ".join(paragraph.split()), width, break_long_words=False, break_on_hyphens=False)]
        rows = [(title, rows) for title, rows in self.sections if rows]
        column = min(_TERM_COLUMNS, max((len(term) for _, rows in rows for term, _ in rows), default=0))
        for title, terms in rows:
            lines += ["", f"{title}:", *_table(terms, column, width)]
        if self.examples:
            lines += ["", "Examples:", *_examples(self.examples)]
        return "\n".join(lines) + "\n"


def help_width() -> int:
    """Return the width of the terminal; what goes into a pipe or a file is not wrapped."""
    try:
        return min(_WIDEST, max(40, os.get_terminal_size(sys.stdout.fileno()).columns))
    except (OSError, ValueError):  # not a terminal
        return _UNLIMITED


def _table(rows: Rows, column: int, width: int) -> Iterator[str]:
    indent = " " * (column + 4)
    for term, meaning in rows:
        lines = wrap(meaning, max(20, width - len(indent)), break_long_words=False, break_on_hyphens=False) or [""]
        if len(term) > column:
            yield f"  {term}"
        else:
            yield f"  {term:{column}}  {lines.pop(0)}".rstrip()
        yield from (f"{indent}{line}" for line in lines if line)


def _examples(examples: Sequence[str]) -> Iterator[str]:
    pairs = [example.partition("  # ") for example in examples]
    column = max(len(command) for command, _, _ in pairs)
    for command, _, remark in pairs:
        yield f"  {command:{column}}  # {remark}" if remark else f"  {command}"


class DaemonParser(argparse.ArgumentParser):
    """An argument parser whose help and errors look like those of the `flyball` commands."""

    def __init__(self, *arguments: Any, examples: Iterable[str] = (), **named: Any) -> None:
        # Without a width, argparse imports shutil, which a daemon would keep in memory.
        formatter = partial(argparse.HelpFormatter, width=help_width())
        super().__init__(*arguments, **(named | {"add_help": False, "formatter_class": formatter}))
        self.examples = tuple(examples)
        self.add_argument("-h", "--help", action="help", help="Show this message and exit.")

    def format_help(self) -> str:
        """Return the help text; help, the first option, is listed last."""
        options: list[tuple[str, str]] = []
        arguments: list[tuple[str, str]] = []
        commands: list[tuple[str, str]] = []
        for action in (*self._actions[1:], self._actions[0]):
            if isinstance(action, argparse._SubParsersAction):
                commands += [(each.dest, each.help or "") for each in action._choices_actions]
            elif action.option_strings:
                options.append((_option(action), _meaning(action)))
            else:
                arguments.append((_metavar(action), _meaning(action)))
        words = [self.prog, "[OPTIONS]", *(["[COMMAND]"] if commands else []), *map(_usage, self._arguments())]
        sections = [("Arguments", arguments), ("Options", options), ("Commands", commands)]
        return HelpPage(" ".join(words), self.description or "", sections, self.examples).text(help_width())

    def error(self, message: str) -> NoReturn:
        """Print what is wrong in one line and exit with status 2."""
        options = [name for action in self._actions for name in action.option_strings]
        text = plain_error(message, options)
        commands = [name for action in self._actions if isinstance(action.choices, dict) for name in action.choices]
        text += f": {_one_of(commands)}" if text.endswith(" COMMAND") and commands else ""
        end = "" if text.endswith("?") else "."
        self.exit(2, f"{self.prog}: {text}{end} See `{self.prog} --help`.\n")

    def _arguments(self) -> list[argparse.Action]:
        commands = argparse._SubParsersAction
        return [each for each in self._actions if not each.option_strings and not isinstance(each, commands)]


def plain_error(message: str, options: Sequence[str]) -> str:
    """Return an error of argparse in the words that the `flyball` commands use."""
    for pattern, words in _ERRORS:
        if found := re.fullmatch(pattern, message, re.DOTALL):
            return words(found, options)
    return message


def _unknown_arguments(found: re.Match[str], options: Sequence[str]) -> str:
    first = found[1].split()[0]
    return (
        f"no such option: {first}{suggestion(first, options)}" if first[0] == "-" else f"unexpected argument: {first}"
    )


def _wrong_choice(found: re.Match[str], _options: Sequence[str]) -> str:
    name, value = found[1].split("/")[0], found[2]
    choices = [choice.strip().strip("'\"") for choice in found[3].split(",")]
    if name == "COMMAND" or name.startswith("{"):
        return f"there is no command {value!r}{suggestion(value, choices) or f'; expected {_one_of(choices)}'}"
    return f"{name} {value}: expected {_one_of(choices)}{suggestion(value, choices)}"


def _one_of(words: Sequence[str]) -> str:
    return f"one of {', '.join(words)}" if len(words) > 1 else words[0]


_ERRORS: Sequence[tuple[str, Callable[[re.Match[str], Sequence[str]], str]]] = (
    (r"unrecognized arguments: (.+)", _unknown_arguments),
    (r"the following arguments are required: (.+)", lambda found, _: f"missing argument {found[1]}"),
    (r"argument ([^:]+): invalid choice: '(.*)' \(choose from (.+)\)", _wrong_choice),
    (
        r"argument ([^:/]+)[^:]*: invalid (?:int|float) value: '(.*)'",
        lambda found, _: f"{found[1]} {found[2]}: expected a number",
    ),
    (r"argument ([^:/]+)[^:]*: expected one argument", lambda found, _: f"{found[1]} needs a value"),
    (
        r"argument ([^:/]+)[^:]*: not allowed with argument ([^/]+).*",
        lambda found, _: f"{found[1]} and {found[2]} exclude each other; give one",
    ),
)


def _option(action: argparse.Action) -> str:
    names = ", ".join(sorted(action.option_strings, key=len))
    return names if action.nargs == 0 else f"{names} {_metavar(action)}"


def _metavar(action: argparse.Action) -> str:
    if action.choices is not None:
        return f"<{'|'.join(map(str, action.choices))}>"
    return str(action.metavar or action.dest.upper())


def _usage(argument: argparse.Action) -> str:
    return f"[{_metavar(argument)}]" if argument.nargs == "?" else _metavar(argument)


def _meaning(action: argparse.Action) -> str:
    default = "" if action.default in (None, False, argparse.SUPPRESS, []) else f"  [default: {action.default}]"
    return f"{action.help or ''}{default}"
