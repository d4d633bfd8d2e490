"""Scenarios: what the stand-in GPUs say over time, and what goes wrong with them."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

Number = int | float
EVERY_GPU = None
_PLAIN = {"utilization_gpu": 0, "utilization_memory": 0, "memory_total": 16 * 1024**3, "memory_used": 0,
          "power": 50_000, "temperature": 40, "memory_temperature": 45, "clock_sm": 1000}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Wave:
    """A value that moves by itself; waves add up: `ramp(40, 90, 0, 300) + noise(0, 1)`."""

    text: str

    def __add__(self, other: "Wave | Number") -> "Wave":
        return Wave(f"{self.text} + {as_text(other)}")


def as_text(value: Wave | Number) -> str:
    """As the scenario file says it."""
    return value.text if isinstance(value, Wave) else f"{value:.17g}"


def _wave(name: str, *arguments: Number) -> Wave:
    return Wave(" ".join([name, *(f"{argument:.17g}" for argument in arguments)]))


def ramp(low: Number, high: Number, begin_seconds: Number, end_seconds: Number) -> Wave:
    """From `low` to `high` between two instants; constant before and after."""
    return _wave("ramp", low, high, begin_seconds, end_seconds)


def saw(low: Number, high: Number, period_seconds: Number) -> Wave:
    """Rises from `low` to `high` over each period, then falls at once."""
    return _wave("saw", low, high, period_seconds)


def square(low: Number, high: Number, period_seconds: Number, high_share: Number) -> Wave:
    """`high` for the first share of each period, `low` for the rest."""
    return _wave("square", low, high, period_seconds, high_share)


def sine(mean: Number, amplitude: Number, period_seconds: Number) -> Wave:
    """Swings about `mean`."""
    return _wave("sine", mean, amplitude, period_seconds)


def noise(mean: Number, spread: Number) -> Wave:
    """Wanders within `mean` ± `spread`, ten new values a second, the same ones each time it is played."""
    return _wave("noise", mean, spread)


def count(per_second: Number) -> Wave:
    """A counter."""
    return _wave("count", per_second)


def known_keys() -> frozenset[str]:
    """What a GPU can be told to say: the table of the C source is the only one."""
    source = Path(__file__).with_name("nvml.c").read_text(encoding="utf-8")
    table = source[source.index("#define KEYS(K)") : source.index("#define AS_ENUM")]
    return frozenset(re.findall(r"K\((\w+), \d+, \d+\)", table))


@dataclass(slots=True)
class Scenario:
    """Lines for the stand-in, written by methods that return the scenario itself."""

    gpus: int = 1
    driver: str = "580.95.05"
    lines: list[str] = field(default_factory=list)
    events: int = 0

    def set(self, values: Mapping[str, Wave | Number | str | None], gpu: int | None = EVERY_GPU) -> Self:
        """Say these values; a later line overrides an earlier one, `None` makes a reading unsupported."""
        for key, value in values.items():
            text = "none" if value is None else value if isinstance(value, str) else as_text(value)
            self.lines.append(f"gpu {_target(gpu)} {key} {text}")
        return self

    def at(self, seconds: Number) -> Self:
        """Stop the time of the scenario."""
        self.lines.append(f"now {seconds:.17g}")
        return self

    def started_at(self, monotonic_seconds: float) -> Self:
        """Count time from this reading of the monotonic clock; else from when the library first looks."""
        self.lines.append(f"start {monotonic_seconds:.17g}")
        return self

    def error(
        self, call: str, code: int, gpu: int | None = EVERY_GPU, begin: Number = 0, end: Number = math.inf
    ) -> Self:
        """This call returns an error code."""
        self.lines.append(f"error {_target(gpu)} {call} {code} {begin} {end}")
        return self

    def hang(
        self, call: str, seconds: Number, gpu: int | None = EVERY_GPU, begin: Number = 0, end: Number = math.inf
    ) -> Self:
        """Each such call takes this long, or until a new scenario without this line is played."""
        self.lines.append(f"hang {_target(gpu)} {call} {seconds} {begin} {end}")
        return self

    def lose(self, gpu: int, begin: Number = 0, end: Number = math.inf) -> Self:
        """This GPU is lost: every call on it says so."""
        self.lines.append(f"lost {gpu} {begin} {end}")
        return self

    def unload_driver(self, begin: Number = 0, end: Number = math.inf) -> Self:
        """There is no driver meanwhile; who had it open must open it again afterwards."""
        self.lines.append(f"driver_missing {begin} {end}")
        return self

    def xid(self, gpu: int, code: int, at: Number = 0) -> Self:
        """The driver reports an XID."""
        self.events += 1
        self.lines.append(f"xid {self.events} {gpu} {code} {at:.17g}")
        return self

    def process(
        self, gpu: int, pid: int, memory_bytes: Wave | Number | None, *, utilization: int = 0, kind: str = "compute"
    ) -> Self:
        """A process (compute, graphics or mps) holds memory of this GPU."""
        memory = "none" if memory_bytes is None else as_text(memory_bytes)
        self.lines.append(f"process {gpu} {kind} {pid} {utilization} {memory}")
        return self

    def slice(self, gpu: int, index: int, *, uuid: str, profile: str, total_bytes: int, used: Wave | Number) -> Self:
        """A MIG instance."""
        self.lines.append(f"mig {gpu} {index} {uuid} {profile} {total_bytes} {as_text(used)}")
        return self

    def text(self) -> str:
        """The file as the library reads it; GPUs of which nothing is said are plain and idle."""
        told = any(line.startswith("gpu ") for line in self.lines)
        plain = [] if told else [f"gpu * {key} {value}" for key, value in _PLAIN.items()]
        return "\n".join([f"gpus {self.gpus}", f"driver {self.driver}", *plain, *self.lines, ""])


def held_by(text: str, pid: int) -> str:
    """The same file, in which this process holds the memory of every GPU that a process held."""
    lines = [line.split(" ") for line in text.split("\n")]
    return "\n".join(
        " ".join([*words[:3], str(pid), *words[4:]] if words[0] == "process" else words) for words in lines
    )


def _target(gpu: int | None) -> str:
    return "*" if gpu is EVERY_GPU else str(gpu)
