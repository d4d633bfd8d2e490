"""A small training on a GPU, and the agent's side of the socket, for the check of the client on a GPU."""

import json
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

_WIDTH = 4096


class StandinAgent:
    """Receives the lines of runs, and answers each."""

    def __init__(self, path: Path) -> None:
        self.lines: list[dict[str, Any]] = []
        self._connections: dict[str, socket.socket] = {}  # by run
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            threading.Thread(target=self._read, args=(connection,), daemon=True).start()

    def _read(self, connection: socket.socket) -> None:
        with suppress(OSError):  # the run may leave before it has read the last answer
            for line in connection.makefile("rb"):
                message = json.loads(line)
                if message["kind"] == "hello":
                    self._connections[message["run"]] = connection
                self.lines.append(message)
                connection.sendall(b'{"kind":"ok"}\n')

    def push(self, run: str, message: dict[str, Any]) -> None:
        """Send a message to the process of a run."""
        time.sleep(0.2)  # its hello may be on the way
        self._connections[run].sendall(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    def reports(self, run: str) -> list[dict[str, Any]]:
        """Return the reports of the connection that opened a run. One run is open at a time."""
        time.sleep(0.2)  # what was sent last
        named = [n for n, line in enumerate(self.lines) if line["kind"] == "hello"]
        first = next(n for n in named if self.lines[n]["run"] == run)
        last = next((n for n in named if n > first), len(self.lines))
        return [line for line in self.lines[first:last] if line["kind"] == "steps"]


class Training:
    """A small model on the GPU with parts of very different times."""

    def __init__(self, torch: Any, width: int = _WIDTH, batch: int = 2048, depth: int = 2) -> None:
        self.torch = torch
        torch.manual_seed(1)
        layers = [layer for _ in range(depth) for layer in (torch.nn.Linear(width, width), torch.nn.GELU())]
        self.model = torch.nn.Sequential(*layers, torch.nn.Linear(width, 1)).cuda()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)
        self.inputs = torch.randn(batch, width, device="cuda")
        self.repeats = 1
        self.losses: list[Any] = []

    def forward(self) -> Any:
        """Return the loss. It is repeated to fill the step."""
        for _ in range(self.repeats - 1):
            with self.torch.no_grad():
                self.model(self.inputs)
        return self.model(self.inputs).square().mean()

    def step(self, run: Any | None) -> None:
        """Train a step, with or without the client."""
        loss = self.forward()
        if run is not None:
            run.mark("forward")
        loss.backward()
        if run is not None:
            run.mark("backward")
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        if run is not None:
            run.mark("optimizer")
            run.step(tokens=2048, loss=loss)

    def fit_to(self, seconds: float) -> float:
        """Repeat the forward pass until a step takes this long. Return the time of a step."""
        for _ in range(8):
            taken = self.seconds_of(None, 20)
            if taken >= 0.9 * seconds:
                break
            self.repeats += max(1, round((seconds - taken) / max(taken / (self.repeats + 2), 1e-5) * 0.9))
        return self.seconds_of(None, 20)

    def seconds_of(self, run: Any | None, steps: int) -> float:
        """Return the time of one of several steps, which the host starts in advance."""
        self.torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(steps):
            self.step(run)
        self.torch.cuda.synchronize()
        return (time.perf_counter() - began) / steps
