"""Reports a training by the steps of one optimizer of PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flyball.frameworks.attachment import Attachment, attempt

if TYPE_CHECKING:
    from collections.abc import Callable

_HANDLE = "_flyball_handle"


def attach(optimizer: Any, attachment: Attachment) -> None:
    """End a step of the run with each step of this optimizer. Wrappers (Accelerate, Lightning) call it too."""
    inner = getattr(optimizer, "optimizer", optimizer)  # of Accelerate's wrapper, which accumulates gradients
    earlier = inner.__dict__.get(_HANDLE)
    if earlier is not None:
        earlier.remove()
    setattr(inner, _HANDLE, inner.register_step_post_hook(_ending(attachment)))


def _ending(attachment: Attachment) -> Callable[..., None]:
    def end_step(*_: object) -> None:
        attempt(attachment.run.step)

    return end_step
