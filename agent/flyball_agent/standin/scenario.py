"""Scenarios of the stand-in GPUs: their readings over time, and their faults."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Self

Number = int | float
ALL_GPUS = None
_LINK_COUNTERS = 10_000  # in nvml.c
_DEFAULTS = {"utilization_gpu": 0, "utilization_memory": 0, "memory_total": 16 * 1024**3, "memory_used": 0,
          "power": 50_000, "temperature": 40, "memory_temperature": 45, "clock_sm": 1000}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Wave:
    """A value that changes over time. Waves can be added: `ramp(40, 90, 0, 300) + noise(0, 1)`."""

    text: str

    def __add__(self, other: "Wave | Number") -> "Wave":
        return Wave(f"{self.text} + {as_text(other)}")


def as_text(value: Wave | Number) -> str:
    """Return a value in the syntax of the scenario file."""
    return value.text if isinstance(value, Wave) else f"{value:.17g}"


def _wave(name: str, *arguments: Number) -> Wave:
    return Wave(" ".join([name, *(f"{argument:.17g}" for argument in arguments)]))


def ramp(low: Number, high: Number, begin_seconds: Number, end_seconds: Number) -> Wave:
    """Return a wave that rises from `low` to `high` between two times and is constant before and after."""
    return _wave("ramp", low, high, begin_seconds, end_seconds)


def saw(low: Number, high: Number, period_seconds: Number) -> Wave:
    """Return a wave that rises from `low` to `high` over each period, then falls at once."""
    return _wave("saw", low, high, period_seconds)


def square(low: Number, high: Number, period_seconds: Number, high_share: Number) -> Wave:
    """Return a wave that is `high` for the first share of each period and `low` for the rest."""
    return _wave("square", low, high, period_seconds, high_share)


def sine(mean: Number, amplitude: Number, period_seconds: Number) -> Wave:
    """Return a sine wave around `mean`."""
    return _wave("sine", mean, amplitude, period_seconds)


def noise(mean: Number, spread: Number) -> Wave:
    """Return random values within `mean` ± `spread`: ten a second, the same ones each time the scenario is played."""
    return _wave("noise", mean, spread)


def count(per_second: Number) -> Wave:
    """Return a counter."""
    return _wave("count", per_second)


def known_keys() -> frozenset[str]:
    """Return the keys of a GPU's readings and texts, from the tables in the C source."""
    source = Path(__file__).with_name("nvml.c").read_text(encoding="utf-8")
    table = source[source.index("#define KEYS(K)") : source.index("#define AS_ENUM")]
    texts = source[source.index("TEXT_KEY[TEXTS] = {") :].partition("}")[0]
    return frozenset(re.findall(r"K\((\w+), \d+, \d+\)", table) + re.findall(r'"(\w+)"', texts))


@dataclass(slots=True)
class Scenario:
    """The lines of a scenario file. Each method adds lines and returns the scenario."""

    gpus: int = 1
    driver: str = "580.95.05"
    lines: list[str] = field(default_factory=list)
    events: int = 0

    def set(self, values: Mapping[str, Wave | Number | str | None], gpu: int | None = ALL_GPUS) -> Self:
        """Set values. A later one overrides an earlier one; `None` makes a reading unsupported."""
        for key, value in values.items():
            text = "none" if value is None else value if isinstance(value, str) else as_text(value)
            self.lines.append(f"gpu {_target(gpu)} {key} {text}")
        return self

    def at(self, seconds: Number) -> Self:
        """Stop the time of the scenario at this moment."""
        self.lines.append(f"now {seconds:.17g}")
        return self

    def started_at(self, monotonic_seconds: float) -> Self:
        """Start the time at this value of the monotonic clock. The default is when the library reads the scenario."""
        self.lines.append(f"start {monotonic_seconds:.17g}")
        return self

    def error(
        self, call: str, code: int, gpu: int | None = ALL_GPUS, begin: Number = 0, end: Number = math.inf
    ) -> Self:
        """Make a call return an error code."""
        self.lines.append(f"error {_target(gpu)} {call} {code} {begin} {end}")
        return self

    def hang(
        self, call: str, seconds: Number, gpu: int | None = ALL_GPUS, begin: Number = 0, end: Number = math.inf
    ) -> Self:
        """Make a call take this long, or until a new scenario without this line is played."""
        self.lines.append(f"hang {_target(gpu)} {call} {seconds} {begin} {end}")
        return self

    def lose(self, gpu: int, begin: Number = 0, end: Number = math.inf) -> Self:
        """Lose a GPU: every call for it returns "GPU is lost"."""
        self.lines.append(f"lost {gpu} {begin} {end}")
        return self

    def unload_driver(self, begin: Number = 0, end: Number = math.inf) -> Self:
        """Remove the driver for a time. Afterwards, NVML must be initialised again."""
        self.lines.append(f"driver_missing {begin} {end}")
        return self

    def xid(self, gpu: int, code: int, at: Number = 0) -> Self:
        """Report an XID error."""
        self.events += 1
        self.lines.append(f"xid {self.events} {gpu} {code} {at:.17g}")
        return self

    def process(
        self, gpu: int, pid: int, memory_bytes: Wave | Number | None, *, utilization: int = 0, kind: str = "compute"
    ) -> Self:
        """Add a process (compute, graphics or mps) that uses memory of a GPU."""
        memory = "none" if memory_bytes is None else as_text(memory_bytes)
        self.lines.append(f"process {gpu} {kind} {pid} {utilization} {memory}")
        return self

    def field(
        self,
        number: int,
        value: Wave | Number | None,
        gpu: int | None = ALL_GPUS,
        *,
        kind: str = "ulonglong",
        scopes: tuple[int, int] = (0, 0),
    ) -> Self:
        """Set a field by its number, for the scopes (such as links) from first to last; `None` makes it unsupported."""
        text = "none" if value is None else as_text(value)
        self.lines.append(f"field {_target(gpu)} {number}/{scopes[0]}-{scopes[1]} {kind} {text}")
        return self

    def link_counter(
        self, counter: int, value: Wave | Number | None, gpu: int | None = ALL_GPUS, *, links: tuple[int, int]
    ) -> Self:
        """Set a counter of nvmlDeviceGetNvLinkErrorCounter for the links from first to last."""
        return self.field(_LINK_COUNTERS + counter, value, gpu, scopes=links)

    def slice(
        self,
        gpu: int,
        index: int,
        *,
        uuid: str,
        profile: str,
        total_bytes: int,
        used: Wave | Number,
        activity: Mapping[str, Wave | Number] = MappingProxyType({}),
    ) -> Self:
        """Add a MIG instance. Its activity (sm_active, sm_occupancy, tensor_active, dram_active) is in percent."""
        self.lines.append(f"mig {gpu} {index} {uuid} {profile} {total_bytes} {as_text(used)}")
        for key, value in activity.items():
            self.lines.append(f"mig_activity {gpu} {index} {key} {as_text(value)}")
        return self

    def slice_process(self, gpu: int, index: int, pid: int, memory_bytes: Wave | Number) -> Self:
        """Add a compute process to a MIG instance."""
        self.lines.append(f"mig_process {gpu} {index} {pid} {as_text(memory_bytes)}")
        return self

    def text(self) -> str:
        """Return the content of the scenario file. If no values are set, all GPUs are simple and idle."""
        has_values = any(line.startswith("gpu ") for line in self.lines)
        defaults = [] if has_values else [f"gpu * {key} {value}" for key, value in _DEFAULTS.items()]
        return "\n".join([f"gpus {self.gpus}", f"driver {self.driver}", *defaults, *self.lines, ""])


def with_process_id(text: str, pid: int) -> str:
    """Return a scenario file in which all processes have this process id."""
    lines = [line.split(" ") for line in text.split("\n")]
    return "\n".join(
        " ".join([*words[:3], str(pid), *words[4:]] if words[0] == "process" else words) for words in lines
    )


def _target(gpu: int | None) -> str:
    return "*" if gpu is ALL_GPUS else str(gpu)
