"""The stand-in library on disk: compiled once, and copied beside each scenario."""

import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from flyball_agent.standin.scenario import Scenario, with_process_id

LIBRARY = "libnvidia-ml.so.1"
_SCENARIO = "scenario"  # the name in nvml.c
SOURCE = Path(__file__).with_name("nvml.c")
_RELOAD_SECONDS = 0.002  # the library checks for a new scenario at most once a millisecond


class StandinError(Exception):
    """The stand-in library cannot be built."""


def build_library(cache: Path | None = None) -> Path:
    """Return the library from the cache, after compiling it if necessary. The cache key is a digest of its source."""
    folder = cache or _default_cache()
    built = folder / f"nvml-{hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]}.so"
    if built.exists():
        return built
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        fresh = Path(scratch) / LIBRARY
        _compile(fresh)
        fresh.replace(built)  # if two processes build it, the later one wins; both files are complete
    return built


class StandIn:
    """A folder with a copy of the library and the scenario that it plays."""

    def __init__(self, directory: Path, scenario: Scenario | None = None, cache: Path | None = None) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.library = directory / LIBRARY
        if scenario is not None:
            self.play(scenario)
        fresh = directory / f".{LIBRARY}.{os.getpid()}"
        shutil.copy(
            build_library(cache), fresh
        )  # a copy, because the loader treats two links to one file as one library
        fresh.replace(self.library)

    def play(self, scenario: Scenario) -> None:
        """Change the scenario. Every NVML call after this one uses it."""
        _play(self.directory, scenario.text())


def hold_gpus(directory: Path, pid: int) -> None:
    """Change the process on the GPUs of a running scenario; everything else continues."""
    _play(directory, with_process_id((directory / _SCENARIO).read_text(encoding="utf-8"), pid))


def _play(directory: Path, text: str) -> None:
    fresh = directory / f".{_SCENARIO}.{os.getpid()}"
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(directory / _SCENARIO)
    time.sleep(_RELOAD_SECONDS)


def _compile(target: Path) -> None:
    compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc")
    if compiler is None:
        raise StandinError("cannot compile the stand-in GPU: there is no C compiler. Install gcc or set CC.")
    command = [compiler, "-shared", "-fPIC", "-O2", "-fvisibility=hidden", "-o", str(target), str(SOURCE)]
    done = subprocess.run([*command, "-lm", "-lpthread", "-ldl"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise StandinError(f"{compiler} failed with status {done.returncode}: {done.stderr.strip()[:2000]}")


def _default_cache() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or os.environ.get("HOME")
    if root is None:
        return Path(tempfile.gettempdir()) / f"flyball-{os.getuid()}"
    return Path(root) / ("flyball" if "XDG_CACHE_HOME" in os.environ else ".cache/flyball")
