"""The run as captures see it, and the errors that end a capture."""

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable


class CaptureRun(Protocol):
    """A run with boundaries between steps and messages to the agent."""

    last_step: int
    finished: bool

    @property
    def rank(self) -> int:
        """Return the rank."""

    def at_boundary(self, action: "Callable[[Any], object]") -> None:
        """Call a function once, at the next boundary."""

    def send_message(self, message: dict[str, Any]) -> bool:
        """Send a message with the next report."""


class CaptureUnavailable(Exception):
    """A capture is not possible here. The message is shown to the operator."""
