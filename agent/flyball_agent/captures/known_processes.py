"""The processes that the agent knows: clients of its socket, and processes that hold a GPU."""

from collections.abc import Callable

from flyball_agent.captures.desk import KnownProcess
from flyball_agent.runs.registry import RunRegistry
from flyball_agent.runs.socket import RunSocket
from flyball_proto.v1 import telemetry_pb2 as pb


class AgentProcesses:
    """Looks at the newest tenancy when it is asked, so nothing is kept here."""

    def __init__(
        self, registry: RunRegistry, tenancy: Callable[[], bytes], socket: Callable[[], RunSocket | None]
    ) -> None:
        self._registry = registry
        self._tenancy = tenancy
        self._socket = socket

    def find(self, pid: int) -> KnownProcess | None:
        """Return a process that reports for a run or holds a GPU."""
        client = self._registry.clients().get(pid)
        if client is not None:
            return KnownProcess(client.run, has_client=True)
        members = pb.Tenancy.FromString(self._tenancy()).members
        member = next((member for member in members if member.pid == pid), None)
        return None if member is None else KnownProcess(member.run, has_client=False)

    def push(self, pid: int, run: str, line: bytes) -> bool:
        """Send a line to the client of a process. Return False if it has no connection or leaves messages unread."""
        socket = self._socket()
        return socket is not None and socket.push(pid, run, line)
