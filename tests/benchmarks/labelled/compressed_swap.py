"""Swap in compressed memory (zram), for as long as an episode needs it."""

import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.labelled.scene import Limit, Scene

DEVICE = Path("/dev/zram0")
_ABOUT = Path("/sys/block/zram0")
_PRIORITY = "100"
"""Above that of the swap file."""


def has_zram() -> bool:
    """Return True if there is an unused zram device that this process may use."""
    try:
        return DEVICE.exists() and (_ABOUT / "disksize").read_text().strip() == "0" and _start(2**20) and _stop()
    except OSError:
        return False


def _start(size: int) -> bool:
    (_ABOUT / "disksize").write_text(str(size))
    return all(
        subprocess.run(command, capture_output=True, check=False).returncode == 0
        for command in (["mkswap", str(DEVICE)], ["swapon", "--priority", _PRIORITY, str(DEVICE)])
    )


def _stop() -> bool:
    subprocess.run(["swapoff", str(DEVICE)], capture_output=True, check=False)
    with suppress(OSError):
        (_ABOUT / "reset").write_text("1")
        return True
    return False


@dataclass(frozen=True, slots=True)
class CompressedSwap:
    """The loop's control group gets a limit, and what does not fit is compressed."""

    limit: Limit
    size: int

    @property
    def needs(self) -> tuple[str, ...]:
        return self.limit.needs

    def on(self, scene: Scene) -> None:
        scene.undo["zram"] = _stop
        if not _start(self.size):
            raise TimeoutError(f"{DEVICE} cannot be used for swap")
        self.limit.on(scene)

    def off(self, scene: Scene) -> None:
        self.limit.off(scene)
        scene.undo.pop("zram", None)
        _stop()
