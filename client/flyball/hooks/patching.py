"""Replaces functions of libraries by ones that measure them, and that look and fail like the originals."""

from __future__ import annotations

from functools import wraps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def replace(owner: Any, name: str, measured: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replace a function of a module or class. Its name, documentation and signature stay."""
    original = getattr(owner, name)
    setattr(owner, name, wraps(original)(measured(original)))


def leave_out_caller(error: BaseException) -> None:
    """Remove the calling frame from a traceback, which then looks as if the script ran without the hooks."""
    if error.__traceback__ is not None:
        error.__traceback__ = error.__traceback__.tb_next
