"""Weights & Biases offline and TensorBoard, with the same values a step, in a virtual environment of their own."""

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.client.imports import NOTHING, cpu_seconds

ENVIRONMENT = Path("build/client-peers")
STEPS = 2_000


@dataclass(frozen=True, slots=True)
class Peer:
    """A tool that training scripts log to."""

    name: str
    package: str
    use: str  # defines log(step) and end()
    imports: str


PEERS = (
    Peer(
        "wandb offline",
        "wandb==0.31.0",
        """
import os
os.environ.update(WANDB_MODE="offline", WANDB_DIR=folder)
import wandb
run = wandb.init(project="p", dir=folder)
def log(step):
    run.log({"loss": 2.5, "tokens": 4096.0, "wait": 0.1, "forward": 0.2, "backward": 0.3, "optimizer": 0.1}, step=step)
end = run.finish
""",
        "import wandb",
    ),
    Peer(
        "TensorBoard",
        "tensorboard==2.21.0",
        """
from tensorboard.summary import Writer
writer = Writer(folder)
def log(step):
    for name in ("loss", "tokens", "wait", "forward", "backward", "optimizer"):
        writer.add_scalar(name, 2.5, step)
end = writer.close
""",
        "from tensorboard.summary import Writer",
    ),
)

PROGRAM = """
import json, sys, time
folder, steps = sys.argv[1], int(sys.argv[2])
began = time.process_time()
{use}
opened = time.process_time() - began
log(0)
times = []
for step in range(1, steps + 1):
    began = time.thread_time_ns()
    log(step)
    times.append(time.thread_time_ns() - began)
    if step % 10 == 0:
        time.sleep(0.001)
end()
times.sort()
middle, p99 = times[len(times) // 2] * 1e-9, times[len(times) * 99 // 100] * 1e-9
print(json.dumps({{"open": opened, "step": middle, "p99": p99}}))
"""


@dataclass(frozen=True, slots=True)
class PeerCost:
    """CPU seconds: to import, to import and open a run, and of a step in the thread of the training."""

    peer: Peer
    imported: float
    opened: float
    step: float
    step_p99: float


def measure(peer: Peer) -> PeerCost | str:
    """Return the costs of a peer, or the reason why there are none."""
    python = _environment(peer)
    if python is None:
        return f"{peer.package} could not be installed"
    bare, imported = cpu_seconds(NOTHING, peer.imports, python=str(python), repeats=3)
    with tempfile.TemporaryDirectory() as folder:
        command = [str(python), "-c", PROGRAM.format(use=peer.use), folder, str(STEPS)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        return f"{peer.package} ended with {ended.returncode}: {ended.stderr[-500:]}"
    found = json.loads(ended.stdout.splitlines()[-1])
    return PeerCost(peer, imported - bare, found["open"], found["step"], found["p99"])


def _environment(peer: Peer) -> Path | None:
    """Return a Python with the peer, installed at the first call."""
    python = ENVIRONMENT / "bin" / "python"
    ready = ENVIRONMENT / f"ready-{peer.package}"
    try:
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", ENVIRONMENT], check=True)
        if not ready.exists():
            subprocess.run([python, "-m", "pip", "install", "--quiet", peer.package], check=True)
    except subprocess.CalledProcessError as error:
        print(f"no peer: {peer.package} could not be installed ({error})", file=sys.stderr)
        return None
    ready.touch()
    return python
