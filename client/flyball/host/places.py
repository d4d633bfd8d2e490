"""The folders in which the machine's files are, so that the files of another machine can be read too."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPlaces:
    """Folders of the kernel and of the system, and the folder in which a training would run."""

    proc: Path = Path("/proc")
    sys: Path = Path("/sys")
    root: Path = Path("/")
    folder: Path = Path()
    nvml_library: str = ""
    """The path of libnvidia-ml.so.1; if empty, the loader searches for it."""
    this_machine: bool = True
    """False for files of another machine: the limits and packages of this process do not belong to it."""
