"""Everything of an episode that a cause may turn: the loop, its surroundings, processes beside it, a memory limit."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import msgspec

from tests.benchmarks.labelled.plan import Change, LoopPlan, SourcePlan
from tests.benchmarks.labelled.surroundings import Ports, Weather

PATIENCE_SECONDS = 10.0
DATA_BYTES = 512 * 1024**2
SWAP_BYTES = 512 * 1024**2
LEASH = ("timeout", "--foreground", "--signal", "KILL", "900")
"""Should the bench be killed, what it started ends by itself."""

_CGROUPS = Path("/sys/fs/cgroup")


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


class Group:
    """A control group (version 1) of our own inside the one that we are in."""

    def __init__(self, controller: str, name: str = "flyball-labelled") -> None:
        own = next(
            line.split(":", 2)[2]
            for line in Path("/proc/self/cgroup").read_text().splitlines()
            if controller in line.split(":")[1].split(",")
        )
        self.path = _CGROUPS / controller / own.lstrip("/") / f"{name}-{os.getpid()}"
        self.path.mkdir()

    def add(self, pid: int) -> None:
        """Put a process into it."""
        (self.path / "cgroup.procs").write_text(str(pid))

    def set(self, name: str, value: int) -> bool:
        """Set a limit; false when the kernel cannot obey at once."""
        try:
            (self.path / name).write_text(str(value))
        except OSError:
            return False
        return True

    def remove(self) -> None:
        """Give it back; its processes have ended, but the kernel may take a moment."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            with suppress(OSError):
                self.path.rmdir()
                return
            time.sleep(0.05)
        raise TimeoutError(f"{self.path}: something still runs there")


def can_group(controller: str) -> bool:
    """Return True if this machine allows such a group."""
    try:
        group = Group(controller, "flyball-labelled-try")
    except (OSError, StopIteration):
        return False
    group.remove()
    return True


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


@dataclass(slots=True)
class Scene:
    """The processes of an episode."""

    folder: Path
    ports: Ports
    weather: Child
    loop: Child | None = None
    memory: Group | None = None
    cpu: Group | None = None
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
        for group in (self.memory, self.cpu):
            if group is not None:
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
    when_on: int
    when_off: int = -1
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

    def _set(self, scene: Scene, key: str, value: int) -> None:
        group = scene.memory if self.controller == "memory" else scene.cpu
        assert group is not None
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
    """The data set that loops read: random bytes, once."""
    path = folder / "data.bin"
    if path.exists() and path.stat().st_size == DATA_BYTES:
        return
    with path.open("wb") as file:
        for _ in range(DATA_BYTES // 2**20):
            file.write(os.urandom(2**20))
        os.fsync(file.fileno())


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
    if "memory" in needs:
        scene.memory = Group("memory")
        scene.memory.add(scene.loop.process.pid)
    if "cpu" in needs:
        scene.cpu = Group("cpu")
        scene.cpu.add(scene.loop.process.pid)
    scene.loop.send(None)
