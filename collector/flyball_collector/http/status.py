"""How a host stands, in one word."""

from enum import IntEnum

from flyball_collector.fleet.host import HostState


class Status(IntEnum):
    """The numbers are those of the overview."""

    UP = 0
    NOT_REPORTING = 1  # no record for too long
    ENDED = 2  # its agent said goodbye
    WAITING = 3  # known, but no record has come

    @property
    def word(self) -> str:
        return self.name.lower()


def status_of(host: HostState, now_ns: int, not_reporting_after_ns: int) -> Status:
    """A host is up while its records come."""
    if not host.received_ns:
        return Status.WAITING
    if host.said_goodbye and not host.connected:
        return Status.ENDED
    return Status.UP if now_ns - host.received_ns <= not_reporting_after_ns else Status.NOT_REPORTING
