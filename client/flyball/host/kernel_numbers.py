"""Numbers in the kernel's files that cannot be negative."""

from pathlib import Path

from flyball_agent.probes.files import count, read_text


def read_count(path: Path) -> int | None:
    """Return the number in a file; None if it cannot be read, is negative, or is larger than any counter."""
    text = read_text(path)
    return None if text is None else count(text.encode())
