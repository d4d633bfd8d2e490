"""A collector with TLS as `flyball certs` sets it up, and certificates of hosts."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import grpc

from flyball_collector.security.certs import Authority, Issued, Part
from tests.processes import Agent, Collector


class SecuredCollector(Collector):
    """A collector that accepts agents with certificates of its own authority."""

    def __init__(self, directory: Path, settings: Mapping[str, object] | None = None) -> None:
        self.authority = Authority(directory / "ca")
        self.authority.initialise()
        mine = self.authority.issue("collector", Part.COLLECTOR)
        files = {
            "grpc.ca_file": self.authority.ca_file,
            "grpc.certificate_file": mine.certificate_file,
            "grpc.key_file": mine.key_file,
        }
        super().__init__(directory, {**files, **(settings or {})})
        self._issued: dict[str, Issued] = {}

    def certificate(self, host: str) -> Issued:
        """Return the certificate of a host; it is issued when it is first needed."""
        if host not in self._issued:
            self._issued[host] = self.authority.issue(host, Part.AGENT)
        return self._issued[host]

    def credentials(self, host: str) -> grpc.ChannelCredentials:
        """Return what a gRPC client needs to connect as a host."""
        issued = self.certificate(host)
        files = (self.authority.ca_file, issued.key_file, issued.certificate_file)
        return grpc.ssl_channel_credentials(*(file.read_bytes() for file in files))

    def start_agent(self, host: str, processes: ExitStack, **settings: object) -> Agent:
        """Start a real agent with the certificate of its host."""
        issued = self.certificate(host)
        files = {
            "tls.ca_file": self.authority.ca_file,
            "tls.certificate_file": issued.certificate_file,
            "tls.key_file": issued.key_file,
        }
        agent = Agent(self.directory / host, self.grpc_port, {"host": host, **files, **settings})
        return processes.enter_context(agent).start()
