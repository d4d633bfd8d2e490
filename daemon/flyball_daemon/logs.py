"""Logging for a terminal, as JSON, or for the systemd journal. Repeated warnings are counted instead of repeated."""

import json
import logging
import os
import re
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, TextIO

import structlog

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}
_PRIORITIES = {"debug": 7, "info": 6, "warning": 4, "error": 3, "exception": 3, "critical": 2}  # sd-daemon(3)
_COLOURS = {"debug": "\033[2m", "info": "\033[32m", "warning": "\033[33m", "error": "\033[31m", "critical": "\033[31m"}

Event = MutableMapping[str, Any]

_ANSWER = "_answer"
_ERROR_NUMBER = re.compile(r"\[Errno -?\d+\] ")


def set_up(level: str = "info", format: str = "auto", stream: TextIO | None = None) -> None:  # noqa: A002  the setting's name
    """Configure structlog, and pass the warnings of libraries through it. It may be called again."""
    out = stream if stream is not None else sys.stderr
    chosen = choose_format(format, out, os.environ)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            Repeats(),
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            without_error_numbers,
            renderer(chosen, colours=chosen == "terminal" and out.isatty()),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=lambda *_: Lines(out),
        cache_logger_on_first_use=False,  # a reload may change the level
    )
    logging.basicConfig(handlers=[_FromLibraries()], level=max(LEVELS[level], logging.WARNING), force=True)


def without_error_numbers(_logger: object, _level: str, event: Event) -> Event:
    """Remove the numbers that Python writes before the operating system's messages, such as [Errno 2]."""
    for key, value in event.items():
        if isinstance(value, str) and key != "exception":
            event[key] = _ERROR_NUMBER.sub("", value)
    return event


def answering(logger: Any) -> Any:
    """Return a logger whose lines are never held back as repeats, because they answer a signal or a command."""
    return logger.bind(**{_ANSWER: True})


def choose_format(format: str, stream: TextIO, environment: Mapping[str, str]) -> str:  # noqa: A002
    """Return the format; `auto` means `journal` if the stream goes to the systemd journal, else `terminal`."""
    if format != "auto":
        return format
    return "journal" if _is_journal(stream, environment.get("JOURNAL_STREAM", "")) else "terminal"


def _is_journal(stream: TextIO, journal: str) -> bool:
    """Return True if the stream is the one that systemd connected to the journal (`device:inode`)."""
    try:
        stat = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return journal == f"{stat.st_dev}:{stat.st_ino}"


class Repeats:
    """Logs the first warning of a kind, then one per time window with the number of suppressed repeats.

    Two warnings are of one kind if level, event and all texts and lists are equal; numbers may differ. An answer is
    always logged.
    """

    def __init__(
        self, window_seconds: float = 60.0, limit: int = 1024, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._window = window_seconds
        self._limit = limit
        self._clock = clock
        self._seen: OrderedDict[tuple[object, ...], list[float]] = (
            OrderedDict()
        )  # kind → [time of the last one, number suppressed]
        self._lock = threading.Lock()

    def __call__(self, _logger: object, level: str, event: Event) -> Event:
        if event.pop(_ANSWER, False) or LEVELS.get(level, 40) < LEVELS["warning"]:
            return event
        kind = (level, *sorted((key, str(value)) for key, value in event.items() if isinstance(value, str | list)))
        now = self._clock()
        with self._lock:
            seen = self._seen.get(kind)
            if seen is not None and now - seen[0] < self._window:
                seen[1] += 1
                raise structlog.DropEvent
            self._seen[kind] = [now, 0]
            self._seen.move_to_end(kind)
            if len(self._seen) > self._limit:
                self._seen.popitem(last=False)
        if seen is not None and seen[1]:
            event["repeats"] = int(seen[1])
        return event


def renderer(format: str, *, colours: bool = False) -> Callable[[object, str, Event], str]:  # noqa: A002
    """Return the last processor, which turns an event into one line (plus those of an exception)."""
    if format == "json":
        return _json
    return _journal if format == "journal" else _coloured if colours else _plain


def _json(_logger: object, _level: str, event: Event) -> str:
    return json.dumps(event, default=repr)


def _plain(_logger: object, _level: str, event: Event) -> str:
    stamp, level = event.pop("timestamp", ""), event.pop("level", "")
    return f"{stamp} {level:7} {_fields(event)}"


def _coloured(_logger: object, _level: str, event: Event) -> str:
    stamp, level = event.pop("timestamp", ""), event.pop("level", "")
    return f"\033[2m{stamp[11:23]}\033[0m {_COLOURS.get(level, '')}{level:7}\033[0m {_fields(event)}"


def _journal(_logger: object, _level: str, event: Event) -> str:
    """Format an event for the journal, which adds the time and reads the priority from a prefix."""
    event.pop("timestamp", None)
    prefix = f"<{_PRIORITIES.get(event.pop('level', 'info'), 6)}>"
    return "\n".join(prefix + line for line in _fields(event).split("\n"))


def _fields(event: Event) -> str:
    name, trace = event.pop("event", ""), event.pop("exception", "")
    text = " ".join([_value_text(name), *(f"{key}={_value_text(value)}" for key, value in event.items())])
    return f"{text}\n{_safe_lines(trace)}" if trace else text


def _value_text(value: object) -> str:
    """Return a value as text without control characters: text from outside may contain line ends or terminal codes."""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = value if isinstance(value, str) else repr(value)
    if text.isprintable():
        quoted = not text or any(character in text for character in ' "=')
        return json.dumps(text, ensure_ascii=False) if quoted and isinstance(value, str) else text
    return json.dumps(text).replace("\x7f", "\\u007f")


def _safe_lines(trace: str) -> str:
    return "\n".join(
        line if line.isprintable() else line.encode("unicode_escape").decode() for line in str(trace).split("\n")
    )


class Lines:
    """Writes lines to a stream. A closed stream does not stop the daemon."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, line: str) -> None:
        """Write one line and flush it."""
        try:
            self._stream.write(line + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            return

    msg = log = debug = info = warning = warn = error = critical = fatal = exception = failure = write


class _FromLibraries(logging.Handler):
    """Logs the warnings of libraries as one event with the name of the library."""

    def emit(self, record: logging.LogRecord) -> None:
        level = next((name for name, number in reversed(LEVELS.items()) if record.levelno >= number), "debug")
        log = getattr(structlog.get_logger(), level)
        log("library_message", library=record.name, message=record.getMessage(), exc_info=record.exc_info)
