"""Libraries that the script has imported. The client imports none of them itself."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def loaded(name: str) -> Any | None:
    """Return a module that the script has imported completely, or None.

    While a module is being imported, its parts are missing.
    """
    module = sys.modules.get(name)
    if module is None:
        return None
    return None if getattr(getattr(module, "__spec__", None), "_initializing", False) else module


def initialised_cuda() -> Any | None:
    """Return torch.cuda if the script uses it, or None.

    Asking for more, such as the number of devices, would initialise CUDA, and then a forked process cannot use it.
    PyTorch answers False in a process that was forked after that.
    """
    torch = loaded("torch")
    cuda = getattr(torch, "cuda", None)
    return cuda if cuda is not None and cuda.is_initialized() else None
