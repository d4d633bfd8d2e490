"""A screen that is drawn anew each second."""

import contextlib
import time
from collections.abc import Callable

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from flyball.command.errors import CommandError

REFRESH_SECONDS = 1.0


def watch(draw: Callable[[], RenderableType], seconds: float = REFRESH_SECONDS, console: Console | None = None) -> None:
    """Until Ctrl-C. Each time is planned before the work; a collector that goes away is waited for."""
    shown_on = console or Console()
    if not shown_on.is_terminal:
        raise CommandError("each second anew needs a terminal; programs take `flyball hosts --format json`", 2)
    screen = Live(console=shown_on, auto_refresh=False, screen=True, vertical_overflow="crop")
    with contextlib.suppress(KeyboardInterrupt), screen:
        due = time.monotonic()
        while True:
            try:
                screen.update(draw(), refresh=True)
            except CommandError as error:
                screen.update(Text(str(error), style="red"), refresh=True)
            due = max(due + seconds, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))
