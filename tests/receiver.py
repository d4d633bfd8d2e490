"""A receiver of notifications as a process of its own: it writes down what it takes, and answers as it is told.

`python -m tests.receiver PORT FOLDER`: each POST becomes a line of FOLDER/posts; the first line of FOLDER/answer, if it
is there, is the status that is answered instead of 200, or `hang`, or `drip`.
"""

import base64
import contextlib
import json
import sys
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.processes import Process, free_port, wait_for


class Receiver(Process):
    """Started, stopped and asked by a test."""

    def __init__(self, folder: Path, port: int | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.port = port or free_port()
        super().__init__([sys.executable, "-m", "tests.receiver", str(self.port), str(folder)], folder / "log")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answer(self, word: str) -> None:
        """How it answers from now on: a status, `hang`, `drip`; or 200 again."""
        (self.folder / "answer").write_text(word)

    def start_listening(self) -> "Receiver":
        self.start()
        wait_for("the receiver listens", (self.folder / "listening").exists, seconds=10)
        return self

    def stop_listening(self) -> None:
        self.kill()
        (self.folder / "listening").unlink()

    def posts(self) -> list["Post"]:
        """What it took, in order."""
        try:
            lines = (self.folder / "posts").read_text().splitlines()
        except FileNotFoundError:
            return []
        return [Post(**json.loads(line)) for line in lines]


class Post:
    """One POST that was answered with 200."""

    def __init__(self, path: str, headers: Mapping[str, str], body: str) -> None:
        self.path = path
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.body = base64.b64decode(body)

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class _Handler(BaseHTTPRequestHandler):
    folder: Path

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            word = (self.folder / "answer").read_text().strip() or "200"
        except FileNotFoundError:
            word = "200"
        if word == "hang":
            time.sleep(60)
        if word == "drip":
            self._drip()
            return
        if word.startswith("refuse ") and word.removeprefix("refuse ").encode() in body:
            word = "400"
        status = int(word) if word.isdigit() else 200
        if status == 200:
            told = {"path": self.path, "headers": dict(self.headers), "body": base64.b64encode(body).decode()}
            with (self.folder / "posts").open("a") as posts:
                posts.write(json.dumps(told) + "\n")
        self.send_response(status)
        self.send_header("Location", "http://127.0.0.1:1/")
        self.end_headers()
        self.wfile.write(b"said\x1b[31m")

    def _drip(self) -> None:
        self.wfile.write(b"HTTP/1.0 200 OK\r\n")
        with contextlib.suppress(OSError):
            for number in range(600):
                self.wfile.write(b"X-%d: y\r\n" % number)
                time.sleep(0.1)

    def log_message(self, *_: object) -> None:
        """Nothing."""


def main(port: int, folder: Path) -> None:
    _Handler.folder = folder
    server = ThreadingHTTPServer(("127.0.0.1", port), _Handler)
    (folder / "listening").touch()
    server.serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
