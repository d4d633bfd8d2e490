"""The environment of a simulated terminal."""


def terminal(columns: int) -> dict[str, str]:
    """Return variables that let Rich format for a terminal of this width, without control characters."""
    return {"COLUMNS": str(columns), "LINES": "24", "TERM": "dumb", "TTY_COMPATIBLE": "1"}
