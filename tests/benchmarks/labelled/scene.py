"""Everything of an episode that a cause may turn: the loop, its surroundings, processes beside it, a memory limit."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import msgspec

from tests.benchmarks.labelled.control_group import Group
from tests.benchmarks.labelled.plan import Change, LoopPlan, SourcePlan
from tests.benchmarks.labelled.remote_files import can_mount, unmount
from tests.benchmarks.labelled.sources import SMALL_FILES, SMALL_FILES_A_FOLDER
from tests.benchmarks.labelled.surroundings import Ports, Weather

DATA_ROOT = Path("/var/tmp")  # noqa: S108  a folder in it is made by tempfile; /tmp may be memory
SHARE = "share"
"""The folder of files over the network, below that of the data."""

DATA_BYTES = 512 * 1024**2
SWAP_BYTES = 512 * 1024**2
SMALL_FILES_COUNT, SMALL_FILE_BYTES = 2000, 32 * 1024
LEASH = ("timeout", "--foreground", "--signal", "KILL", "900")
"""Should the bench be killed, what it started ends by itself."""


class Child:
    """A child process in its own process group, controlled over its stdin."""

    def __init__(self, module: str, *arguments: str, launcher: Sequence[str] = ()) -> None:
        self.process = subprocess.Popen(
            [*launcher, sys.executable, "-m", f"tests.benchmarks.labelled.{module}", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0,
        )

    def read_line(self) -> bytes:
        """Return the next line of its output."""
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def send(self, message: msgspec.Struct | None) -> None:
        """Write one line; None writes an empty one."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.write((msgspec.json.encode(message) if message is not None else b"") + b"\n")
            self.process.stdin.flush()

    def close(self) -> None:
        """Its end, and that of its children."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(3)
        end_group(self.process)
        self.process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def end_group(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process that leads a group, and all of the group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def swap_file(path: Path) -> Iterator[bool]:
    """A swap file for as long as this lasts; false where that is not allowed."""
    try:
        subprocess.run(["fallocate", "-l", str(SWAP_BYTES), path], check=True, capture_output=True)
        path.chmod(0o600)
        subprocess.run(["mkswap", path], check=True, capture_output=True)
        subprocess.run(["swapon", path], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        path.unlink(missing_ok=True)
        yield False
        return
    try:
        yield True
    finally:
        subprocess.run(["swapoff", path], check=True)
        path.unlink()


@contextmanager
def share(folder: Path, ports: Ports) -> Iterator[bool]:
    """A file system over the network for as long as this lasts; false where that is not allowed."""
    if not can_mount(folder):
        yield False
        return
    with Child("remote_files", str(folder), ports.host, str(ports.data), str(DATA_BYTES)) as server:
        try:
            yield server.read_line() == b"ready\n"
        finally:
            unmount(folder)


@dataclass(slots=True)
class Scene:
    """The processes of an episode."""

    folder: Path
    ports: Ports
    weather: Child
    loop: Child | None = None
    groups: dict[str, Group] = field(default_factory=dict)  # by controller
    undo: dict[str, Callable[[], object]] = field(default_factory=dict)  # what switches must not leave behind
    processes: dict[str, "list[subprocess.Popen[bytes]]"] = field(default_factory=dict)

    def start_processes(self, name: str, commands: Sequence[Sequence[str]]) -> None:
        """Programs beside the loop."""
        self.processes[name] = [
            subprocess.Popen(
                (*LEASH, *command), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                process_group=0, cwd=self.folder,
            )
            for command in commands
        ]  # fmt: skip

    def stop_processes(self, name: str) -> None:
        """Their end."""
        for process in self.processes.pop(name, []):
            end_group(process)

    def close(self) -> None:
        """Whatever still runs ends."""
        for name in list(self.processes):
            self.stop_processes(name)
        if self.loop is not None:
            self.loop.send(Change(end=True))
            self.loop.close()
        self.weather.send(Weather())
        for undo in self.undo.values():
            undo()
        for group in self.groups.values():
            group.remove()


class Switch(Protocol):
    """Turns a cause on and off. `needs` names the control groups that the loop must run in."""

    @property
    def needs(self) -> tuple[str, ...]: ...
    def on(self, scene: Scene) -> None: ...
    def off(self, scene: Scene) -> None: ...


@dataclass(frozen=True, slots=True)
class Programs:
    """Programs beside the loop."""

    name: str
    commands: tuple[tuple[str, ...], ...]
    needs: tuple[str, ...] = ()

    def on(self, scene: Scene) -> None:
        scene.start_processes(self.name, self.commands)

    def off(self, scene: Scene) -> None:
        scene.stop_processes(self.name)


@dataclass(frozen=True, slots=True)
class LoopSwitch:
    """The loop itself goes about it differently."""

    when_on: Change
    when_off: Change
    needs: tuple[str, ...] = ()

    def on(self, scene: Scene) -> None:
        assert scene.loop is not None
        scene.loop.send(self.when_on)

    def off(self, scene: Scene) -> None:
        assert scene.loop is not None
        scene.loop.send(self.when_off)


@dataclass(frozen=True, slots=True)
class WeatherSwitch:
    """The servers or the network behave differently."""

    when_on: Weather
    needs: tuple[str, ...] = ()

    def on(self, scene: Scene) -> None:
        scene.weather.send(self.when_on)

    def off(self, scene: Scene) -> None:
        scene.weather.send(Weather())


@dataclass(frozen=True, slots=True)
class Limit:
    """The loop's control group gets a limit."""

    controller: str
    key: str
    when_on: int | str
    when_off: int | str = -1
    also: tuple[tuple[str, int], ...] = ()  # keys that are set beforehand

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.controller,)

    def on(self, scene: Scene) -> None:
        for key, value in self.also:
            self._set(scene, key, value)
        self._set(scene, self.key, self.when_on)

    def off(self, scene: Scene) -> None:
        self._set(scene, self.key, self.when_off)

    def _set(self, scene: Scene, key: str, value: int | str) -> None:
        group = scene.groups[self.controller]
        for _ in range(50):  # the kernel gives up when it cannot shrink the group fast enough
            if group.set(key, value):
                return
            time.sleep(0.02)
        raise TimeoutError(f"{group.path}: {key} cannot become {value}")


@dataclass(frozen=True, slots=True)
class Draw:
    """A cause as one episode has it: how strong, what loop it needs, how it is turned."""

    strength: str
    switch: Switch
    source: SourcePlan | None = None
    loop: Mapping[str, object] = field(default_factory=dict)


def make_data(folder: Path) -> None:
    """The data sets that loops read: random bytes, in one file and in many small ones, once."""
    path = folder / "data.bin"
    if path.exists() and path.stat().st_size == DATA_BYTES:
        return
    for number in range(SMALL_FILES_COUNT):
        small = folder / SMALL_FILES / f"{number // SMALL_FILES_A_FOLDER:02d}" / f"{number:05d}.bin"
        small.parent.mkdir(parents=True, exist_ok=True)
        small.write_bytes(os.urandom(SMALL_FILE_BYTES))
    with path.open("wb") as file:
        for _ in range(DATA_BYTES // 2**20):
            file.write(os.urandom(2**20))
    os.sync()  # pages that are not yet written cannot be dropped from the cache


def loop_of(plan: LoopPlan) -> Child:
    """Start the training of a plan. It waits for a line before it begins."""
    encoded = msgspec.json.encode(plan).decode()
    if plan.reports != "hooks":
        return Child("loop", encoded)
    launcher = (sys.executable, "-m", "flyball", "run", "--name", plan.run, "--")
    return Child("torch_loop", encoded, launcher=launcher)


def start_loop(scene: Scene, plan: LoopPlan, needs: Sequence[str]) -> None:
    """Start training, in control groups of its own where a cause needs them."""
    scene.loop = loop_of(plan)
    assert scene.loop.read_line() == b"ready\n"
    for controller in dict.fromkeys(needs):
        group = scene.groups[controller] = Group(controller)
        group.add(scene.loop.process.pid)
    scene.loop.send(None)
