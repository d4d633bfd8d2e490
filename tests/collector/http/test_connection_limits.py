"""Connections are counted for each address; those without a request in progress make room for new ones."""

from flyball_collector.http.connection_limits import RESERVED, Admission, ConnectionLimits


class Door:
    """Limits, the connections that were closed, and the reasons of what was refused."""

    def __init__(self, *, total: int, per_address: int) -> None:
        self.limits = ConnectionLimits(total, per_address, self.reasons_append)
        self.closed: list[str] = []
        self.reasons: list[str] = []
        self.admitted: dict[str, Admission] = {}

    def reasons_append(self, reason: str) -> None:
        self.reasons.append(reason)

    def open(self, name: str, address: str = "192.0.2.1", *, busy: bool = False) -> Admission | None:
        admission = self.limits.admit(address, lambda: self._close(name))
        if admission is not None:
            self.admitted[name] = admission
            self.limits.set_busy(admission, busy=busy)
        return admission

    def _close(self, name: str) -> None:
        self.closed.append(name)
        self.limits.release(self.admitted[name])


def test_the_oldest_connection_without_a_request_makes_room() -> None:
    """Over the limit of an address, a busy connection stays open and the oldest other one is closed."""
    door = Door(total=10, per_address=3)
    door.open("busy", busy=True)
    for name in ("old", "new", "newest"):
        assert door.open(name) is not None
    assert door.closed == ["old"]
    assert door.reasons == ["address_replaced"]
    assert door.limits.count == 3


def test_a_connection_that_answered_a_request_waits_behind_the_others() -> None:
    """A connection becomes closable again when its request is answered, as the newest of them."""
    door = Door(total=10, per_address=2)
    first = door.open("first", busy=True)
    door.open("second")
    assert first is not None
    door.limits.set_busy(first, busy=False)
    door.open("third")
    assert door.closed == ["second"]


def test_when_all_are_busy_a_few_more_are_reserved_for_checks() -> None:
    """Beyond the limit, some connections are admitted as reserved and the rest are refused."""
    door = Door(total=100, per_address=2)
    for number in range(2):
        door.open(f"busy {number}", busy=True)
    reserved = [door.open(f"reserved {number}", busy=True) for number in range(RESERVED)]
    assert all(each is not None and each.reserved for each in reserved)
    assert door.open("one too many") is None
    assert door.reasons == ["address"]
    assert door.open("elsewhere", "192.0.2.2") is not None


def test_the_address_with_the_most_connections_makes_room_for_others() -> None:
    """At the limit of all connections, one of the largest address is closed, not one of a small address."""
    door = Door(total=5, per_address=4)
    door.open("honest", "192.0.2.9")
    for number in range(4):
        door.open(f"many {number}")
    assert door.open("newcomer", "192.0.2.8") is not None
    assert door.closed == ["many 0"]
    assert door.reasons == ["total_replaced"]


def test_ended_connections_are_forgotten() -> None:
    """After its end a connection neither counts nor can be closed, even if its state is reported late."""
    door = Door(total=10, per_address=1)
    first = door.open("first")
    door.open("second")
    assert first is not None
    for busy in (True, False):
        door.limits.set_busy(first, busy=busy)
    door.open("third")
    assert door.closed == ["first", "second"]
    door.limits.release(door.admitted["third"])
    assert door.limits.count == 0
