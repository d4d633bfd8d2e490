"""Surroundings of a training on this machine: the driver of the processor's clock, and databases beside it."""

from pathlib import Path

from flyball.host_review.host_finding import Surroundings

DATABASES = frozenset({"mongod", "mongos", "postgres", "mysqld", "mariadbd", "redis-server", "clickhouse-serv"})
"""The kernel cuts names of processes to 15 characters."""

_FREQUENCY = "devices/system/cpu/cpu0/cpufreq"


def read_surroundings(proc: Path = Path("/proc"), system: Path = Path("/sys")) -> Surroundings:
    """Read what is there; what is missing or unreadable stays empty."""
    frequency = system / _FREQUENCY
    return Surroundings(
        scaling_driver=_line(frequency / "scaling_driver"),
        energy_preference=_line(frequency / "energy_performance_preference"),
        databases=_databases(proc),
    )


def _line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _databases(proc: Path) -> tuple[str, ...]:
    try:
        processes = [each for each in proc.iterdir() if each.name.isdecimal()]
    except OSError:
        return ()
    return tuple(sorted({name for each in processes if (name := _line(each / "comm")) in DATABASES}))
