"""Errors of Typer in the form that all other messages have: OPTION VALUE: expected …; did you mean …?"""

import re
from collections.abc import Callable

from flyball_daemon.suggestion import suggestion
from flyball_reports.errors import read_fault

_RANGE = re.compile(r"(?:([-+\d.e]+)(<=?))?x(?:([<>]=?)([-+\d.e]+))?")
_NAMES = r"'([^']+)'(?: / '[^']+')*(?: \(env var: '[^']+'\))?"  # only the first name is captured
_GROUPED = 100_000  # smaller limits, such as those of ports, are written without commas
_POWERS = 1e9  # larger ones are written as 1e15


def number_text(text: str) -> str:
    """Return a number as people write it: 7.0 is 7, 1000000.0 is 1,000,000, and 1000000000000000 is 1e15."""
    value = float(text)
    if abs(value) >= _POWERS:
        return f"{value:g}".replace("e+", "e")
    return f"{value:,.0f}" if abs(value) >= _GROUPED else f"{value:g}"


def range_text(text: str) -> str:
    """Return a range of Typer in words: 1<=x<=16 is "1 to 16", x>=1 is "at least 1"."""
    found = _RANGE.fullmatch(text)
    if found is None:
        return text
    low, _, relation, high = found.groups()
    if low:
        return f"{number_text(low)} to {number_text(high)}"
    words = {">=": "at least", ">": "above", "<=": "at most", "<": "below"}
    return f"{words[relation]} {number_text(high)}"


def usage_error(message: str) -> str:
    """Return the message for a wrong command line, without a full stop."""
    message = message.removesuffix(".")
    for pattern, words in _ERRORS:
        if found := re.fullmatch(pattern, message, re.DOTALL):
            return words(found)
    return f"{message[:1].lower()}{message[1:]}"


def _wrong_value(found: re.Match[str]) -> str:
    name, fault = found[1].strip("[]"), found[2]
    for pattern, words in _FAULTS:
        if wrong := re.fullmatch(pattern, fault, re.DOTALL):
            return words(name, wrong)
    return f"{name}: {fault[:1].lower()}{fault[1:]}"


def _wrong_choice(name: str, wrong: re.Match[str]) -> str:
    value, choices = wrong[1], re.findall("'([^']*)'", wrong[2])
    return f"{name} {value}: expected one of {', '.join(choices)}{suggestion(value, choices)}"


def _not_an_integer(name: str, wrong: re.Match[str]) -> str:
    text = wrong[1]
    try:
        value = float(text)
    except ValueError:
        return f"{name} {text}: expected an integer"
    return f"{name} {text}: expected an integer" + (f"; write {value:.0f}" if value.is_integer() else "")


def _not_readable(_name: str, wrong: re.Match[str]) -> str:
    return read_fault(wrong[1], PermissionError())


def _unknown_option(found: re.Match[str]) -> str:
    near = (found[2] or "").split(", ")[0]
    return f"no such option: {found[1]}" + (f"; did you mean {near!r}?" if near else "")


def _missing(found: re.Match[str]) -> str:
    name = re.sub(r"^\[\w+\] ", "", found[2]).rstrip("…")  # of "[remove] NAME" and "FILE…"
    choices = ", ".join(word.strip(",") for word in (found[3] or "").split())
    return f"missing {found[1]} {name}" + (f": one of {choices}" if choices else "")


_FAULTS: tuple[tuple[str, Callable[[str, re.Match[str]], str]], ...] = (
    (r"'(.*)' is not one of (.+)", _wrong_choice),
    (
        r"(\S+) is not in the range (\S+)",
        lambda name, wrong: f"{name} {number_text(wrong[1])}: expected {range_text(wrong[2])}",
    ),
    (r"'(.*)' is not a valid int\w*(?: range)?", _not_an_integer),
    (r"'(.*)' is not a valid float(?: range)?", lambda name, wrong: f"{name} {wrong[1]}: expected a number"),
    (r"\w+ '(.*)' is not readable", _not_readable),
)
_ERRORS: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
    (rf"Invalid value for {_NAMES}: (.+)", _wrong_value),
    (rf"Missing (argument|option) {_NAMES}\.?(?: Choose from:(.*))?", _missing),
    (r"No such option: (\S+)(?: \(Possible options: (.+)\))?", _unknown_option),
    (r"Got unexpected extra arguments?(?:\(s\))? \((.+)\)", lambda found: f"unexpected argument: {found[1]}"),
    (r"Option '([^']+)' requires an argument", lambda found: f"{found[1]} needs a value"),
)
