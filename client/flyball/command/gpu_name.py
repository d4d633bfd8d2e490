"""Short names of GPUs."""

import re

_UUID = re.compile(r"([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
"""A UUID of RFC 9562; its first eight digits are enough to distinguish GPUs."""


def gpu_name(gpu: str | None, index: int | None) -> str:
    """Return "GPU 3", or the beginning of the UUID if the index is unknown; nothing if there is no GPU."""
    if not gpu:
        return ""
    name = _UUID.sub(r"\1", gpu).removeprefix("GPU-") if index is None else str(index)
    return f"GPU {name}"
