"""One training worker: for each sample it requests a hundred items from the service, then computes a little.

It has its own session, shares nothing with other workers, and reports where its time went.
"""

import argparse
import http.client
import json
import sys
import time

ITEMS = 100  # per sample
DISTINCT = 400  # different items; they repeat, so that a cache helps
COMPUTE_SECONDS = 0.03  # CPU time per sample


class Session:
    """The connections of one worker; without `keep`, each call opens a new one."""

    def __init__(self, port: int, *, keep: bool) -> None:
        self._port = port
        self._keep = keep
        self._connection: http.client.HTTPConnection | None = None
        self.connecting = 0.0
        self.calling = 0.0
        self.calls = 0

    def ask(self, items: list[int]) -> list[int]:
        """Request the values of some items in one call."""
        started = time.perf_counter()
        connection = self._connection
        if connection is None:
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
            connection.connect()
            self.connecting += time.perf_counter() - started
            self._connection = connection
        started = time.perf_counter()
        connection.request("POST", "/items", json.dumps(items), {"Content-Type": "application/json"})
        answer: list[int] = json.loads(connection.getresponse().read())
        self.calling += time.perf_counter() - started
        self.calls += 1
        if not self._keep:
            self.close()
        return answer

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def items_of(sample: int) -> list[int]:
    """Return the items of a sample; they are the same in every worker."""
    return [(sample * 7 + number * number) % DISTINCT for number in range(ITEMS)]


def compute(values: list[int]) -> int:
    """Use a fixed CPU time, as a tokenizer would, so that a loaded machine does the same work."""
    total, until = 0, time.process_time() + COMPUTE_SECONDS
    while time.process_time() < until:
        total = (total + sum(values)) % 1_000_003
    return total


def train(session: Session, samples: range, calls: int) -> None:
    """Run the training loop with this number of calls per sample."""
    size = -(-ITEMS // calls)
    for sample in samples:
        items = items_of(sample)
        values: list[int] = []
        for first in range(0, ITEMS, size):
            values += session.ask(items[first : first + size])
        if values != [item * item for item in items]:
            raise ValueError(f"sample {sample}: the service returned wrong values")
        compute(values)


def main() -> None:
    """Wait for a line of input, train, and print the time shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--samples", type=int, required=True)
    parser.add_argument("--first", type=int, default=0, help="number of its first sample")
    parser.add_argument("--calls", type=int, default=ITEMS, help="calls per sample")
    parser.add_argument("--keep", action="store_true", help="keep the connection open")
    options = parser.parse_args()
    session = Session(options.port, keep=options.keep)
    print("ready", flush=True)
    sys.stdin.readline()
    started, busy = time.perf_counter(), time.process_time()
    train(session, range(options.first, options.first + options.samples), options.calls)
    report = {
        "seconds": time.perf_counter() - started,
        "busy_seconds": time.process_time() - busy,
        "calling_seconds": session.calling,
        "connecting_seconds": session.connecting,
        "calls": session.calls,
    }
    session.close()
    print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
