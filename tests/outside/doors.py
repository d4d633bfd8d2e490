"""Both kinds of port for agents, TLS and plaintext, as a gRPC client sees them."""

from collections.abc import Sequence
from dataclasses import dataclass

import grpc
from grpc import aio

from tests.outside.door import SecuredCollector
from tests.processes import Collector

Option = tuple[str, int | str]


@dataclass(frozen=True, slots=True)
class Door:
    """The agents' port of a collector. Channels are opened with the certificate of `HOST` if it needs one."""

    collector: Collector

    def channel(self, host: str, options: Sequence[Option] = (), port: int | None = None) -> grpc.Channel:
        """Return a channel that shares no connection with other channels."""
        address, chosen = self._address(port), self._options(options)
        if isinstance(self.collector, SecuredCollector):
            return grpc.secure_channel(address, self.collector.credentials(host), chosen)
        return grpc.insecure_channel(address, chosen)

    def aio_channel(self, host: str, options: Sequence[Option] = ()) -> aio.Channel:
        """Return the same for asyncio."""
        address, chosen = self._address(None), self._options(options)
        if isinstance(self.collector, SecuredCollector):
            return aio.secure_channel(address, self.collector.credentials(host), chosen)
        return aio.insecure_channel(address, chosen)

    def _address(self, port: int | None) -> str:
        return f"127.0.0.1:{port or self.collector.grpc_port}"

    @staticmethod
    def _options(options: Sequence[Option]) -> list[Option]:
        return [("grpc.use_local_subchannel_pool", 1), *options]
