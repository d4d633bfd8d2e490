"""A table of processes on disk, as `/proc` shows it."""

from pathlib import Path

from tests.client.profiling.test_process_reading import IO, stat_line


class ProcessTable:
    """Processes that start, get another parent, and end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.newest(0)

    def newest(self, pid: int) -> None:
        """Set the newest process id."""
        (self.folder / "loadavg").write_text(f"0.00 0.00 0.00 1/100 {pid}\n")

    def put(self, pid: int, parent: int, *, started: int = 99, io: bool = True) -> None:
        """Start a process, or change it."""
        process = self.folder / str(pid)
        process.mkdir(exist_ok=True)
        (process / "stat").write_bytes(stat_line(b"a", parent=parent, started=started))
        if io:
            (process / "io").write_bytes(IO)

    def end(self, pid: int) -> None:
        """Remove a process."""
        for file in (self.folder / str(pid)).iterdir():
            file.unlink()
        (self.folder / str(pid)).rmdir()
