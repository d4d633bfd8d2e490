"""Parts of the agent that learn what training processes report beside their steps."""

from typing import Protocol

from flyball_agent.runs.adjustment_messages import AbleMessage, AdjustmentAnswer, OomMessage
from flyball_agent.runs.messages import Hello
from flyball_agent.runs.registry import SocketPeer


class TooManyMessages(Exception):
    """A process sends more messages about adjustments than a training ever needs."""


class CaptureNotes(Protocol):
    """Learns what processes report about captures."""

    def note(self, peer: SocketPeer, capture: str, state: str, detail: str) -> None:
        """Take the progress of a capture, or the reason why it failed."""

    def left(self, peer: SocketPeer) -> None:
        """Learn that a process has left its run."""


class NoCaptures:
    """Ignores what processes report about captures: nothing was ordered."""

    def note(self, peer: SocketPeer, capture: str, state: str, detail: str) -> None:
        """Do nothing."""

    def left(self, peer: SocketPeer) -> None:
        """Do nothing."""


class AdjustmentListener(Protocol):
    """Learns what processes report about adjustments. Each method may raise `TooManyMessages`."""

    enabled: bool  # otherwise their messages are ignored, as by an agent that does not know them

    def able(self, peer: SocketPeer, hello: Hello, message: AbleMessage) -> None:
        """Take the values that a process can change."""

    def answer(self, peer: SocketPeer, hello: Hello, message: AdjustmentAnswer) -> bool:
        """Take an answer to an offer. Return False if the process has none to answer."""

    def note_oom(self, peer: SocketPeer, hello: Hello, message: OomMessage) -> None:
        """Learn that a process ran out of memory."""

    def left(self, peer: SocketPeer) -> None:
        """Learn that a process has left its run."""


class NoAdjustments:
    """Ignores what processes report about adjustments."""

    enabled = False

    def able(self, peer: SocketPeer, hello: Hello, message: AbleMessage) -> None:
        """Do nothing."""

    def answer(self, peer: SocketPeer, hello: Hello, message: AdjustmentAnswer) -> bool:  # noqa: ARG002
        """Return False: nothing was offered."""
        return False

    def note_oom(self, peer: SocketPeer, hello: Hello, message: OomMessage) -> None:
        """Do nothing."""

    def left(self, peer: SocketPeer) -> None:
        """Do nothing."""
