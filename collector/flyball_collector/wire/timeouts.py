"""Time limits of a connection (keepalive, greeting, idle, stuck, age), and their enforcement."""

from dataclasses import dataclass

from flyball_collector.wire.peer import Peer

AGED = "the connection reached grpc.max_connection_age_seconds; reconnect"


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Time limits in seconds, checked once a second."""

    keepalive_seconds: float = 6.0  # without data, then a ping; as long again without an answer ends it: 18 s at most
    greeting_seconds: float = 10.0  # for HTTP/2 settings to arrive
    idle_seconds: float = 300.0  # without a call
    stuck_seconds: float = 30.0  # while the client leaves sent bytes unread
    farewell_seconds: float = 2.0  # for the client to close
    penalty_seconds: float = 10.0  # until a client whose connection caused too much work may connect again
    age_grace_seconds: float = 10.0  # for open calls to end by themselves


TIMEOUTS = Timeouts()


def enforce_timeouts(peer: Peer, now: float, timeouts: Timeouts) -> None:
    """Ping or close a connection that has reached a limit."""
    if peer.closing is not None:
        if now - peer.closing > timeouts.farewell_seconds:
            peer.lose()
        return
    if peer.stuck and now - peer.flushed > timeouts.stuck_seconds:
        peer.lose()
    elif not peer.greeted and now - peer.born > timeouts.greeting_seconds:
        peer.close("no HTTP/2 settings received")
    elif not peer.calls and now - peer.busy > timeouts.idle_seconds:
        peer.close("idle")
    elif now > peer.leaves + timeouts.age_grace_seconds:
        peer.close(AGED)
    else:
        if now > peer.leaves:
            peer.leave(AGED)
        _keep_alive(peer, now, timeouts.keepalive_seconds)


def _keep_alive(peer: Peer, now: float, seconds: float) -> None:
    if peer.pinged is None:
        if now - peer.heard > seconds:
            peer.ping()
    elif now - peer.pinged > seconds:
        peer.ready()  # a slow server may have the answer unread in its buffer
        if peer.heard < peer.pinged:
            peer.lose()
