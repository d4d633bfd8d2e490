"""A GPU as people name it."""

import re

_UUID = re.compile(r"([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
"""As RFC 9562 writes it; people tell GPUs apart by its first eight digits."""


def gpu_words(gpu: str | None, index: int | None) -> str:
    """GPU 3; where its number is unknown the beginning of its UUID; nothing where it is about no GPU."""
    if not gpu:
        return ""
    name = _UUID.sub(r"\1", gpu).removeprefix("GPU-") if index is None else str(index)
    return f"GPU {name}"
