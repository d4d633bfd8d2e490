"""Calls of Adjust.Connect: who may make them, and how they are counted."""

from flyball_collector.adjustments.settings import OFF
from flyball_collector.adjustments.streams.adjust_streams import AdjustStreams
from flyball_collector.ingest.counts import Counts
from flyball_collector.ingest.identity import check_certificate, check_host
from flyball_collector.ingest.rejection import Rejection
from flyball_collector.refused_agents import RefusedAgents
from flyball_collector.wire.call import Call
from flyball_collector.wire.client import ConnectedClient
from flyball_collector.wire.status import CallEnded, StatusCode

_COUNTED = {
    StatusCode.DEADLINE_EXCEEDED: "adjust_hello",
    StatusCode.INVALID_ARGUMENT: "adjust_message",
    StatusCode.RESOURCE_EXHAUSTED: "adjust_rate",
    StatusCode.FAILED_PRECONDITION: "adjust_term",
}
"""Reasons for the metrics. A collector on which adjustments are off refuses every agent that asks: no fault."""


class _NotIdentified(CallEnded):
    """The client may not act for this host. It is counted already."""


class AdjustCalls:
    """Checks the certificate of each call as for records, and passes it on."""

    def __init__(
        self, streams: AdjustStreams | None, counts: Counts, refused_agents: RefusedAgents, *, verified: bool
    ) -> None:
        self._streams = streams
        self._counts = counts
        self._refused_agents = refused_agents
        self._verified = verified

    async def connect(self, call: Call) -> None:
        """Serve Adjust.Connect."""
        if self._streams is None:
            await call.read()  # gRPC's asyncio client loses a status that comes while it sends its first message
            call.abort(StatusCode.PERMISSION_DENIED, OFF)
        try:
            await self._streams.serve(call, self._identify)
        except CallEnded as ended:
            if ended.code in _COUNTED and not isinstance(ended, _NotIdentified):
                self._counts.rejected_streams[_COUNTED[ended.code]] += 1
            raise

    def _identify(self, host: str, client: ConnectedClient) -> None:
        try:
            check_host(host)
            if self._verified:
                check_certificate(host, client.names)
        except Rejection as rejection:
            self._counts.rejected_streams[f"adjust_{rejection.reason}"] += 1
            self._refused_agents.record(
                host=host, certificate=client.certificate, address=client.address, reason=rejection.message
            )
            raise _NotIdentified(rejection.code, rejection.message) from None
