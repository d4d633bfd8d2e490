"""Reports a run to the agent of the host once a second, and keeps what could not be sent."""

from __future__ import annotations

import os

from flyball.training.figures import Figures
from flyball.training.messages import AgentMessages
from flyball.training.report_line import GOODBYE, steps_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flyball.training.agent_link import AgentLink
    from flyball.training.progress import Progress
    from flyball.training.protocols import RunFacts

_KEEP_NS = 60_000_000_000
"""What could not be reported is kept for a minute: later, a report of so many steps would look like one slow second."""


class Reporter:
    """Sends reports and messages, and receives messages. In a process forked from the training it does neither."""

    __slots__ = ("_detached", "_link", "_owner", "_reported_dropped", "_since", "_unsent", "messages")

    def __init__(self, link: AgentLink, now: int) -> None:
        self._link = link
        self._unsent = Figures()
        self._since = now
        self._reported_dropped = 0
        self._owner = os.getpid()
        self._detached = False
        self.messages = AgentMessages()

    @property
    def connected(self) -> bool:
        """Return True while the agent is connected."""
        return self._link.connected

    @property
    def hellos(self) -> int:
        """Return how often the run was introduced to an agent: what an agent knows begins again with each hello."""
        return self._link.hellos

    @property
    def is_owned(self) -> bool:
        """Return True if this process has opened the run. A forked one has a copy that reports nothing."""
        return self._owner in {0, os.getpid()}

    @property
    def refusal(self) -> str:
        """Return the last error of the agent, if it refused the run."""
        return self._link.refusal

    def open(self, hello: bytes, now: int) -> None:
        """Open the run, or a new attempt of it."""
        self._link.introduce(hello)
        self._link.send(b"", now)

    def add(self, figures: Figures) -> int:
        """Add what was measured to the next report. Return how many names did not fit."""
        return self._unsent.add(figures)

    def send(self, run: RunFacts, progress: Progress, now: int) -> None:
        """Send what was measured, and act on what the agent has sent."""
        if self._detached and not self._continues():
            return
        if not self._link.open(now):
            if now - self._since > _KEEP_NS:
                self._unsent, self._since = Figures(), now
            return
        self.messages.send(self._link, now)
        dropped = run.dropped
        line = steps_line(run.last_step, self._unsent, progress, dropped - self._reported_dropped)
        if self._link.send(line, now):
            self._unsent, self._since = Figures(), now
            self._reported_dropped = dropped
        self._receive(run, now)

    def exchange(self, run: RunFacts, now: int) -> None:
        """Send the messages that wait and act on what the agent has sent, without a report."""
        if not self._detached and self._link.connected:
            self.messages.send(self._link, now)
            self._receive(run, now)

    def _receive(self, run: RunFacts, now: int) -> None:
        """Act on what the agent has sent. Answers to it are sent at once."""
        self.messages.receive(run, self._link.receive(now))
        self.messages.send(self._link, now)

    def finish(self, now: int) -> None:
        """Leave the run."""
        if not self._detached and self._link.connected:
            self._link.send(GOODBYE, now)
        self._link.close()
        self._owner = 0
        self._detached = True

    def attach(self) -> None:
        """Report from this process, whatever it was forked from."""
        self._owner, self._detached = os.getpid(), False

    def detach(self) -> None:
        """Stop reporting: this process is a child of the one that opened the run."""
        self._detached = True
        self._link.close()

    def _continues(self) -> bool:
        """Return True if this process has become the training: it was forked to run as a daemon."""
        if not self._owner or self._owner == os.getpid() or _is_alive(self._owner):
            return False
        self.attach()
        return True


def _is_alive(process: int) -> bool:
    """Return True if a process runs. One that has ended may still be in the list, until its parent has noticed."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:  # noqa: PTH123  pathlib takes 7 ms to import
            return file.read().rpartition(b")")[2].split()[0] not in {b"Z", b"X"}
    except FileNotFoundError:
        return False
    except (OSError, IndexError):
        return True
