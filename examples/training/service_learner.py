"""A learner with three levels that calls an HTTP service for each sample. It needs nothing but Python.

    python examples/training/service_learner.py --steps 60

A level groups what the level below has learned. The service counts how often it has seen a group.
"""

import argparse
import http.client
import json
import random
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import flyball

WORDS = ("the", "host", "run", "step", "loss", "rank", "batch", "agent")
GROUP = (8, 4, 2)  # items of a level that make one item of the next


class Memory(BaseHTTPRequestHandler):
    """`POST /learn` with a level and a list of groups; the answer is how many of them are new."""

    protocol_version = "HTTP/1.1"  # connections can stay open
    disable_nagle_algorithm = True
    seen: Counter[str]

    def do_POST(self) -> None:
        groups = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        new = sum(group not in self.seen for group in groups)
        self.seen.update(groups)
        body = json.dumps(new).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name of the library
        """Do not log requests."""


def texts(count: int) -> Iterator[list[str]]:
    """Yield texts of 64 words."""
    generator = random.Random(7)  # noqa: S311  the texts are the same in each run
    for _ in range(count):
        yield [generator.choice(WORDS) for _ in range(64)]


def learn(run: flyball.Run, service: http.client.HTTPConnection, level: int, items: list[str]) -> int:
    """Have the service learn the groups of one level. Return how many were new."""
    with run.call("memory"):  # counts the call, its time and its errors
        service.request("POST", "/learn", json.dumps(items))
        new: int = json.loads(service.getresponse().read())
    run.level(f"level{level}").add(len(items))
    return new


def train(steps: int, port: int) -> None:
    """Learn one text in each step. The share of new groups is the loss."""
    service = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    with flyball.run("service-learner", total_samples=steps) as run:
        for number, words in enumerate(run.data(texts(steps)), 1):
            new, groups, items = 0, 0, words
            for level, size in enumerate(GROUP):
                new += learn(run, service, level, items)
                groups += len(items)
                items = [" ".join(items[first : first + size]) for first in range(0, len(items), size)]
            run.step(samples=1, loss=new / groups)
            print(f"step {number:>3}  loss {new / groups!r}")
        print(run.summary())
    service.close()


def main() -> None:
    """Start the service and learn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    Memory.seen = Counter()
    server = HTTPServer(("127.0.0.1", 0), Memory)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    train(options.steps, server.server_port)
    server.shutdown()


if __name__ == "__main__":
    main()
