"""Control groups (version 1) of the training's own, and limits in them."""

import os
import time
from contextlib import suppress
from pathlib import Path

PATIENCE_SECONDS = 10.0
_CGROUPS = Path("/sys/fs/cgroup")


class Group:
    """A control group of our own inside the one that we are in."""

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

    def set(self, name: str, value: int | str) -> bool:
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


def disk_of(folder: Path) -> str:
    """Return the number (major:minor) of the disk that holds a folder, as limits of the kernel name it."""
    device = folder.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    about = Path("/sys/dev/block") / number
    if (about / "partition").exists():
        return (about.resolve().parent / "dev").read_text().strip()
    return number
