"""A screen that is drawn again every second."""

import contextlib
import time
from collections.abc import Callable

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from flyball.command.errors import CommandError, WrongArgument

REFRESH_SECONDS = 1.0


def show_live(
    draw: Callable[[], RenderableType],
    command: str,
    seconds: float = REFRESH_SECONDS,
    console: Console | None = None,
    instead: str = "flyball hosts --format json",
) -> None:
    """Draw until Ctrl-C. Errors of the collector are shown in place, so that the screen survives its restart."""
    terminal = console or Console()
    if not terminal.is_terminal:
        raise WrongArgument(f"`{command}` needs an interactive terminal; in scripts, use `{instead}`")
    screen = Live(console=terminal, auto_refresh=False, screen=True, vertical_overflow="crop")
    with contextlib.suppress(KeyboardInterrupt), screen:
        due = time.monotonic()
        while True:
            try:
                screen.update(draw(), refresh=True)
            except CommandError as error:
                screen.update(Text(str(error), style="red"), refresh=True)
            due = max(due + seconds, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))
