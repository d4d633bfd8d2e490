"""Screens that are drawn anew: `flyball top` and `flyball host NAME --watch`."""

import asyncio
import io

import pytest
from rich.console import Console, RenderableType
from rich.text import Text

from flyball.command.api import Api
from flyball.command.errors import CommandError
from flyball.command.host import live_view
from flyball.command.hosts import Sort, fleet_view
from flyball.command.watching import watch
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.http.testing import Clock, Machine, make_parts, serving
from flyball_collector.timeline.testing import make_event


def printed(view: RenderableType) -> str:
    console = Console(width=100, color_system=None)
    with console.capture() as captured:
        console.print(view)
    return captured.get()


def test_a_screen_goes_on_until_ctrl_c() -> None:
    """A collector that goes away is said and waited for; Ctrl-C is the ordinary end, not an error."""
    answers = iter((Text("one"), CommandError("nobody answers"), Text("two"), KeyboardInterrupt()))

    def draw() -> Text:
        answer = next(answers)
        if isinstance(answer, Text):
            return answer
        raise answer

    screen = io.StringIO()
    watch(draw, seconds=0, console=Console(file=screen, force_terminal=True, color_system=None))
    assert next(answers, None) is None
    shown = screen.getvalue()
    assert shown.index("one") < shown.index("nobody answers") < shown.index("two")


def test_a_screen_needs_a_terminal() -> None:
    """Into a file or a pipe nothing would ever be written: that is said at once."""
    with pytest.raises(CommandError, match="needs a terminal"):
        watch(Text, console=Console(file=io.StringIO()))


async def test_the_fleet_s_alarms_stand_above_its_hosts() -> None:
    """What is worst is in sight, however many hosts there are."""
    clock = Clock()
    parts = make_parts(clock=clock)
    for name in ("a", "b"):
        parts.fleet.apply(Machine(name, 2).tick(0, clock.now_ns))
    parts.timeline.take([make_event("disk_full", subject=Subject("b"), because="nearly")])
    async with serving(parts) as url:
        shown = printed(fleet_view(await asyncio.to_thread(Api(url).get, "overview"), Sort.NAME))
    first, *_ = shown.splitlines()
    assert first == "2 hosts, 0 silent, 4 GPUs"
    assert 0 < shown.index("disk_full") < shown.index("HOST")


async def test_a_host_s_traffic_is_told_from_the_second_time_on() -> None:
    """Each view knows what was told before it."""
    clock = Clock()
    parts = make_parts(clock=clock)
    machine = Machine("a", 1)
    async with serving(parts) as url:
        draw = live_view(Api(url), "a")
        views = []
        for second in range(2):
            clock.now_ns += 10**9
            parts.fleet.apply(machine.tick(second, clock.now_ns))
            views.append(printed(await asyncio.to_thread(draw)))
    assert "disks" not in views[0]
    assert "disks  read" in views[1]
