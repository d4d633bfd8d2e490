"""Reads the table of `dcgmi dmon`, which has no times: `--every` is the time between two samples."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from flyball_collector.replay.csv_rows import CsvRow
from flyball_collector.replay.formats.reading_rows import MEGAHERTZ, MIB, PERCENT, NumberedLines, number_of, row_of

_FIELDS = {
    "GPUTL": ("gpu_utilization_ratio", PERCENT),  # 203
    "FBUSD": ("gpu_memory_used_bytes", MIB),  # 252
    "FBTTL": ("gpu_memory_total_bytes", MIB),  # 250
    "POWER": ("gpu_power_watts", 1.0),  # 155
    "POWR": ("gpu_power_watts", 1.0),
    "PMLMT": ("gpu_power_limit_watts", 1.0),  # 160
    "TMPTR": ("gpu_temperature_celsius", 1.0),  # 150
    "GTEMP": ("gpu_temperature_celsius", 1.0),
    "SDTMP": ("gpu_slowdown_temperature_celsius", 1.0),  # 158
    "SMCLK": ("gpu_sm_clock_hertz", MEGAHERTZ),  # 100
}
"""Short names of DCGM's fields → our column and the factor."""

_HEAD = "#Entity"


def is_head(line: str) -> bool:
    """Return True for a header line of dcgmi dmon."""
    return line.lstrip().startswith(_HEAD)


@dataclass(slots=True)
class _Clock:
    """Counts samples: each begins with the entity that the first began with."""

    every_seconds: float
    sample: int = 0
    seen: set[str] = field(default_factory=set)

    def seconds(self, entity: str) -> float:
        """Return the time of an entity's line."""
        if entity in self.seen:
            self.sample += 1
            self.seen.clear()
        self.seen.add(entity)
        return self.sample * self.every_seconds


def read(lines: NumberedLines, host: str, every_seconds: float | None, ignored: dict[str, None]) -> Iterator[CsvRow]:
    """Yield the rows of whole GPUs; those of MIG instances and other entities are left out."""
    names: list[str] = []
    if every_seconds is None:
        raise lines.fault(1, "`dcgmi dmon` writes no times; add --every SECONDS, the value of its -d in seconds")
    clock = _Clock(every_seconds)
    for number, line in lines.numbered():
        words = line.split()
        if is_head(line):
            names = _names(lines, number, words, ignored)
        elif words[0] == "GPU" and len(words) > 1:
            if not names:
                raise lines.fault(number, "no header line that begins with #Entity")
            seconds = clock.seconds(words[1])
            yield _row(lines, number, words, names, (seconds, host))
        elif words[0].startswith("#") or words[0] == "ID" or words[0].startswith(("GPU-", "Switch", "CPU", "Link")):
            continue
        else:
            raise lines.fault(number, f"expected a line such as 'GPU 0  98  45', not {line.strip()[:40]!r}")


def _names(lines: NumberedLines, number: int, words: Sequence[str], ignored: dict[str, None]) -> list[str]:
    names = list(words[1:])
    if not set(names) & _FIELDS.keys():
        raise lines.fault(number, "no field with readings; add some of 203,252,250,155,150,100 to -e")
    ignored.update(dict.fromkeys(name for name in names if name not in _FIELDS))
    return names


def _row(
    lines: NumberedLines, number: int, words: Sequence[str], names: Sequence[str], at: tuple[float, str]
) -> CsvRow:
    cells = words[2:]
    if len(cells) < len(names):
        raise lines.fault(number, f"{len(cells)} values instead of {len(names)}; is the end of the file missing?")
    values = {}
    for name, cell in zip(names, cells, strict=False):
        if name not in _FIELDS:
            continue
        ours, factor = _FIELDS[name]
        try:
            value = number_of(cell)
        except ValueError:
            raise lines.fault(number, f"{name} {cell!r} is not a number") from None
        if value is not None:
            values[ours] = value * factor
    seconds, host = at
    try:
        return row_of(seconds, f"{seconds:g}", host, words[1], values)
    except ValueError as error:
        raise lines.fault(number, str(error)) from None
