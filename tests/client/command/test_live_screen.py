"""Screens that are drawn again every second: `flyball top` and `flyball host NAME --watch`."""

import asyncio
import io

import pytest
from rich.console import Console, RenderableType
from rich.text import Text

from flyball.command import run
from flyball.command.api import Api
from flyball.command.errors import CommandError, WrongArgument
from flyball.command.host import live_view
from flyball.command.hosts import HostOrder, fleet_view
from flyball.command.live_screen import show_live
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.http.testing import MachineDouble, WallClock, make_parts, serving
from flyball_collector.timeline.testing import make_event


def printed(view: RenderableType) -> str:
    console = Console(width=100, color_system=None)
    with console.capture() as captured:
        console.print(view)
    return captured.get()


def test_a_screen_is_drawn_until_ctrl_c() -> None:
    """While the collector is away its error is shown; Ctrl-C is the normal end."""
    answers = iter((Text("one"), CommandError("no collector answers"), Text("two"), KeyboardInterrupt()))

    def draw() -> Text:
        answer = next(answers)
        if isinstance(answer, Text):
            return answer
        raise answer

    screen = io.StringIO()
    show_live(draw, "flyball top", seconds=0, console=Console(file=screen, force_terminal=True, color_system=None))
    assert next(answers, None) is None
    shown = screen.getvalue()
    assert shown.index("one") < shown.index("no collector answers") < shown.index("two")


def test_a_screen_needs_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """In a pipe the command ends with status 2 and names the alternative."""
    with pytest.raises(WrongArgument, match="`flyball top` needs an interactive terminal"):
        show_live(Text, "flyball top", console=Console(file=io.StringIO()))
    for words, instead in ((["top"], "hosts --format json"), (["host", "a", "--watch"], "host a --format json")):
        assert run(words) == 2
        assert f"in scripts, use `flyball {instead}`" in capsys.readouterr().err


async def test_problems_are_shown_above_the_hosts() -> None:
    """The worst problem is visible even if the table is longer than the screen."""
    clock = WallClock()
    parts = make_parts(clock=clock)
    for name in ("a", "b"):
        parts.fleet.apply(MachineDouble(name, 2).tick(0, clock.now_ns))
    parts.timeline.add_events([make_event("disk_full", subject=Subject("b"), because="nearly")])
    async with serving(parts) as url:
        shown = printed(fleet_view(await asyncio.to_thread(Api(url).get, "overview"), HostOrder.NAME))
    first, *_ = shown.splitlines()
    assert first == "2 hosts, 0 not reporting, 4 GPUs"
    assert 0 < shown.index("disk_full") < shown.index("HOST")


async def test_traffic_is_shown_from_the_second_view_on() -> None:
    """Each view uses the counters of the one before."""
    clock = WallClock()
    parts = make_parts(clock=clock)
    machine = MachineDouble("a", 1)
    async with serving(parts) as url:
        draw = live_view(Api(url), "a")
        views = []
        for second in range(2):
            clock.now_ns += 10**9
            parts.fleet.apply(machine.tick(second, clock.now_ns))
            views.append(printed(await asyncio.to_thread(draw)))
    assert "disks" not in views[0]
    assert "disks  read" in views[1]
