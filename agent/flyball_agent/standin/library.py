"""The stand-in library on disk: compiled once, copied to where a scenario is played."""

import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from flyball_agent.standin.scenario import Scenario, held_by

LIBRARY = "libnvidia-ml.so.1"
_SCENARIO = "scenario"  # as nvml.c names it
SOURCE = Path(__file__).with_name("nvml.c")
_LOOK_SECONDS = 0.002  # the library looks for a new scenario at most once a millisecond


class StandInError(Exception):
    """The stand-in library cannot be built."""


def build_library(cache: Path | None = None) -> Path:
    """Compile the library, or find it in the cache under the digest of its source."""
    folder = cache or _default_cache()
    built = folder / f"nvml-{hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]}.so"
    if built.exists():
        return built
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        fresh = Path(scratch) / LIBRARY
        _compile(fresh)
        fresh.replace(built)  # two builders at once: the later one wins, both are whole
    return built


class StandIn:
    """A folder with a library of its own beside the scenario that it plays."""

    def __init__(self, directory: Path, scenario: Scenario | None = None, cache: Path | None = None) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.library = directory / LIBRARY
        if scenario is not None:
            self.play(scenario)
        fresh = directory / f".{LIBRARY}.{os.getpid()}"
        shutil.copy(build_library(cache), fresh)  # a copy: the loader takes two links to one file for one library
        fresh.replace(self.library)

    def play(self, scenario: Scenario) -> None:
        """Change the scenario; when this returns, every later call sees the new one."""
        _play(self.directory, scenario.text())


def hold_gpus(directory: Path, pid: int) -> None:
    """From now on this process is said to train on the GPUs that are played there; all else goes on."""
    _play(directory, held_by((directory / _SCENARIO).read_text(encoding="utf-8"), pid))


def _play(directory: Path, text: str) -> None:
    fresh = directory / f".{_SCENARIO}.{os.getpid()}"
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(directory / _SCENARIO)
    time.sleep(_LOOK_SECONDS)


def _compile(target: Path) -> None:
    compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc")
    if compiler is None:
        raise StandInError("the stand-in GPU is compiled here, but there is no C compiler: install gcc or set CC")
    command = [compiler, "-shared", "-fPIC", "-O2", "-fvisibility=hidden", "-o", str(target), str(SOURCE)]
    done = subprocess.run([*command, "-lm", "-lpthread", "-ldl"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise StandInError(f"{compiler} failed with status {done.returncode}: {done.stderr.strip()[:2000]}")


def _default_cache() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or os.environ.get("HOME")
    if root is None:
        return Path(tempfile.gettempdir()) / f"flyball-{os.getuid()}"
    return Path(root) / ("flyball" if "XDG_CACHE_HOME" in os.environ else ".cache/flyball")
