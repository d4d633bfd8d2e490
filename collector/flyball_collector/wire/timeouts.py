"""How long a connection may be silent, stuck, useless or old, and what happens then."""

from dataclasses import dataclass

from flyball_collector.wire.peer import Peer

AGED = "the connection has reached its age (grpc.max_connection_age_seconds); connect again"


@dataclass(frozen=True, slots=True)
class Timeouts:
    """In seconds; looked at once a second."""

    keepalive_seconds: float = 6.0  # without a word; unanswered for as long again, it is given up: 18 s at most
    greeting_seconds: float = 10.0  # a connection that has not spoken HTTP/2 by then is none
    idle_seconds: float = 300.0  # without a call
    stuck_seconds: float = 30.0  # answers that nobody reads
    farewell_seconds: float = 2.0  # for the other side to close
    age_grace_seconds: float = 10.0  # for calls to end by themselves


TIMEOUTS = Timeouts()


def enforce_timeouts(peer: Peer, now: float, patience: Timeouts) -> None:
    """Do what is due."""
    if peer.closing is not None:
        if now - peer.closing > patience.farewell_seconds:
            peer.lose()
        return
    if peer.stuck and now - peer.flushed > patience.stuck_seconds:
        peer.lose()
    elif not peer.greeted and now - peer.born > patience.greeting_seconds:
        peer.close("nothing was said")
    elif not peer.calls and now - peer.busy > patience.idle_seconds:
        peer.close("nothing was asked for")
    elif now > peer.leaves + patience.age_grace_seconds:
        peer.close(AGED)
    else:
        if now > peer.leaves:
            peer.leave(AGED)
        _keep_alive(peer, now, patience.keepalive_seconds)


def _keep_alive(peer: Peer, now: float, seconds: float) -> None:
    if peer.asked is None:
        if now - peer.heard > seconds:
            peer.ask()
    elif now - peer.asked > seconds:
        peer.ready()  # a server that is behind may only not have read what it said
        if peer.heard < peer.asked:
            peer.lose()
