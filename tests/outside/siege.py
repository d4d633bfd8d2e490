"""Measures a collector with honest agents while it is attacked.

`python -m tests.outside.siege [NAME…]` prints the table of docs/security.md.
"""

import http.client
import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from statistics import median

from flyball_collector.security.certs import Issued
from tests.judge import last_sequence
from tests.outside.attacks import ATTACKS, Attack
from tests.outside.door import SecuredCollector
from tests.outside.raw_client import ATTACKER
from tests.processes import Agent, wait_for
from tests.raw_agent import RawAgent

ATTACK_SECONDS = 1.5
HOSTS = ("honest-1", "honest-2")
STREAMS = 64  # of the collector: few, so that an attacker can try to hold all of them
PROBE_SECONDS = 0.04
_NO_ANSWER_SECONDS = 2.0
_ROOT = Path(__file__).parents[2]


@dataclass
class Measured:
    """The answers and records that people and agents got during some seconds."""

    answers: list[float] = field(default_factory=list)  # seconds until /healthz and /readyz answered
    unanswered: int = 0
    gap_seconds: float = 0.0  # the longest time without a new record of an honest host
    memory_bytes: int = 0
    cpu_share: float = 0.0  # of one core
    newcomer_seconds: float = inf  # until a host that connects meanwhile is welcomed
    attacker: dict[str, int] = field(default_factory=dict)

    @property
    def median_seconds(self) -> float:
        """Return the median time of an answer."""
        return median(self.answers) if self.answers else _NO_ANSWER_SECONDS

    def row(self, name: str) -> str:
        """Return a row of a Markdown table."""
        times = [self.median_seconds, max(self.answers, default=_NO_ANSWER_SECONDS)]
        median_ms, slowest_ms = (f"{seconds * 1e3:.0f} ms" for seconds in times)
        memory, cpu = f"{self.memory_bytes / 1e6:.0f} MB", f"{self.cpu_share:.0%}"
        waits = f"{self.gap_seconds:.1f} s | {self.newcomer_seconds:.1f} s"
        answers = f"{median_ms} | {slowest_ms} | {self.unanswered}"
        return f"| {name} | {answers} | {waits} | {cpu} | {memory} | {self.attacker} |"


class Siege:
    """A collector and two real agents. `attack` measures them during one attack."""

    def __init__(self, directory: Path, processes: ExitStack) -> None:
        settings = {"not_reporting_after_seconds": 2, "limits.streams": STREAMS, "adjustments.enabled": "true"}
        self.collector = SecuredCollector(directory, settings)
        processes.enter_context(self.collector).start_ready()
        self.agents: dict[str, Agent] = {host: self.collector.start_agent(host, processes) for host in HOSTS}
        for host in HOSTS:
            wait_for(f"{host} reports", lambda host=host: last_sequence(self.collector, host) > 1)  # type: ignore[misc]
        self._watch = _Watch(self.collector)

    def attack(self, attack: Attack, seconds: float = ATTACK_SECONDS) -> Measured:
        """Measure during an attack."""
        port = self.collector.http_port if attack.http else self.collector.grpc_port
        files = [] if attack.http else [self._certificate(attack).certificate_file, self.collector.authority.ca_file]
        command = [
            sys.executable,
            "-m",
            "tests.outside.attacker",
            attack.name,
            str(port),
            str(seconds),
            *map(str, files),
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=_ROOT) as attacker:
            try:
                measured = self.measure(attacker)
                output = attacker.stdout.read() if attacker.stdout else b""
            finally:
                attacker.kill()
        measured.attacker = json.loads(output)
        return measured

    def _certificate(self, attack: Attack) -> Issued:
        """Return a certificate for one attack: after it, its client may have to wait before it can connect again."""
        return self.collector.certificate(f"{ATTACKER}-{attack.name.replace('_', '-')}")

    def measure(self, attacker: "subprocess.Popen[bytes] | float") -> Measured:
        """Measure until the attacker has ended, or for some seconds."""
        measured, newcomer = Measured(), _Newcomer(self.collector)
        cpu, started = self.collector.cpu_seconds(), time.monotonic()
        for path in _until_ended(attacker):
            asked = time.monotonic()
            if self.answers(path):
                measured.answers.append(time.monotonic() - asked)
            else:
                measured.unanswered += 1
            measured.gap_seconds = max(measured.gap_seconds, self._watch.look())
            newcomer.look()
            measured.memory_bytes = max(measured.memory_bytes, self.collector.resident_bytes())
        measured.cpu_share = (self.collector.cpu_seconds() - cpu) / (time.monotonic() - started)
        measured.newcomer_seconds = newcomer.close()
        return measured

    def answers(self, path: str) -> bool:
        """Return True if a new connection gets the answer 200 in time."""
        connection = http.client.HTTPConnection("127.0.0.1", self.collector.http_port, timeout=_NO_ANSWER_SECONDS)
        try:
            connection.request("GET", path)
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


class _Watch:
    """Notes when a new record of each honest host becomes visible, over all attacks."""

    def __init__(self, collector: SecuredCollector) -> None:
        self._collector = collector
        self._newest = dict.fromkeys(HOSTS, (-1, time.monotonic()))
        self._next_look = 0.0

    def look(self) -> float:
        """Look for new records, four times a second at most. Return the longest wait that goes on or ends now."""
        now, longest = time.monotonic(), 0.0
        if now < self._next_look:
            return longest
        self._next_look = now + 0.25
        for host, (sequence, since) in self._newest.items():
            found = -1
            with suppress(OSError, http.client.HTTPException):
                found = last_sequence(self._collector, host)
            longest = max(longest, time.monotonic() - since)
            if found > sequence:
                self._newest[host] = found, time.monotonic()
        return longest


class _Newcomer:
    """A host that connects during an attack, and again until it succeeds, as agents do."""

    def __init__(self, collector: SecuredCollector) -> None:
        self._collector = collector
        self._started = time.monotonic()
        self._agent = self._connect()
        self._seconds = inf

    def _connect(self) -> RawAgent:
        credentials = self._collector.credentials("newcomer")
        return RawAgent(self._collector.grpc_port, "newcomer", credentials=credentials).open()

    def look(self) -> None:
        """Note when the host is welcomed; connect again if the stream has ended."""
        if self._seconds < inf:
            return
        if self._agent.replies:
            self._seconds = time.monotonic() - self._started
        elif self._agent.error is not None:
            self._agent.__exit__()
            self._agent = self._connect()

    def close(self) -> float:
        """Disconnect. Return how long it took to be welcomed."""
        deadline = time.monotonic() + _NO_ANSWER_SECONDS
        while self._seconds == inf and time.monotonic() < deadline:
            self.look()
            time.sleep(PROBE_SECONDS)
        self._agent.__exit__()
        return self._seconds


def _until_ended(attacker: "subprocess.Popen[bytes] | float") -> Iterator[str]:
    """Yield paths to ask for, some 25 a second."""
    deadline = time.monotonic() + (attacker if isinstance(attacker, float) else inf)
    for path in itertools.cycle(("/healthz", "/readyz")):
        ended = isinstance(attacker, subprocess.Popen) and attacker.poll() is not None
        if ended or time.monotonic() > deadline:
            return
        yield path
        time.sleep(PROBE_SECONDS)


def main(names: Sequence[str]) -> None:
    """Print what is measured during each attack."""
    with ExitStack() as processes, tempfile.TemporaryDirectory() as folder:
        siege = Siege(Path(folder) / "collector", processes)
        print(siege.measure(3.0).row("none"), flush=True)
        for attack in ATTACKS:
            if not names or attack.name in names:
                print(siege.attack(attack).row(attack.name), flush=True)
                time.sleep(1.0)
        print(siege.measure(3.0).row("none afterwards"), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
