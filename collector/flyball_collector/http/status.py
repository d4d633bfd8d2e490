"""The status of a host in one word."""

from enum import IntEnum

from flyball_collector.fleet.host import HostState


class Status(IntEnum):
    """The status. The numbers are used in the overview."""

    UP = 0
    NOT_REPORTING = 1  # no record for too long
    ENDED = 2  # its agent was shut down
    WAITING = 3  # known, but without a record

    @property
    def word(self) -> str:
        return self.name.lower()


def status_of(host: HostState, now_ns: int, not_reporting_after_ns: int) -> Status:
    """Return the status. A host is up while its records arrive."""
    if not host.received_ns:
        return Status.WAITING
    if host.goodbye and not host.connected:
        return Status.ENDED
    return Status.UP if now_ns - host.received_ns <= not_reporting_after_ns else Status.NOT_REPORTING
