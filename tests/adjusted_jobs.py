"""Jobs of two ranks with one adjustable value, whose ranks a test can hold at a step, kill and compare.

`python -m tests.adjusted_jobs` imports PyTorch once and forks the ranks of each job, so that a job costs little.
"""

import contextlib
import faulthandler
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from tests.processes import Collector, GaveUp, free_port, wait_for

RANKS = 2
VALUE = "chunk"
SETTINGS: dict[str, object] = {
    "adjustments.enabled": "true",
    "adjustments.policy": "auto",
    "adjustments.auto_safety": 2,
    "adjustments.cooldown_minutes": 0,
    "adjustments.max_per_hour": 60,
    "adjustments.watch_steps": 20,
}
"""Settings of a collector that adjusts whenever it is asked."""

_STEP_SECONDS = 0.03  # with the value 1; a higher one makes steps as much faster, so that its effect is soon clear
NEVER = 10**9
ERRORS = "errors"
STACKS_SIGNAL = signal.SIGUSR2
KNOWN_SECONDS = 240.0
"""Ten jobs of two ranks that start at once took 14 s on two cores that nothing else used."""


class AdjustedJob:
    """Two ranks that are running."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.pids: list[int] = []
        self.statuses: dict[int, int] = {}  # of ranks that have ended
        self.errors = folder.parent / ERRORS  # of all jobs of its launcher

    def hold(self, rank: int, after: int = 0) -> None:
        """Let a rank end this step, or the one that it is in, and no further one."""
        fresh = self.folder / f"limit{rank}.new"
        fresh.write_text(str(after))
        fresh.replace(self.folder / f"limit{rank}")

    def release(self) -> None:
        """Let both ranks go on."""
        for rank in range(RANKS):
            self.hold(rank, NEVER)

    def values(self, rank: int) -> dict[int, int]:
        """Return the value that was in force in each step."""
        with contextlib.suppress(FileNotFoundError):
            lines = (self.folder / f"steps{rank}").read_text().split("\n")[:-1]
            return {int(step): int(value) for step, value in map(str.split, lines)}
        return {}

    def step(self, rank: int) -> int:
        """Return the newest step that a rank has begun."""
        return self._newest(rank)[0]

    def newest(self, rank: int) -> int:
        """Return the value in that step; 0 if there is none."""
        return self._newest(rank)[1]

    def _newest(self, rank: int) -> tuple[int, int]:
        with contextlib.suppress(FileNotFoundError), (self.folder / f"steps{rank}").open("rb") as lines:
            lines.seek(max(0, lines.seek(0, os.SEEK_END) - 64))
            whole = lines.read().split(b"\n")[-2:-1]
            step, value = whole[0].split() if whole else (0, 0)
            return int(step), int(value)
        return 0, 0

    def kill(self, rank: int) -> None:
        """Kill a rank with SIGKILL."""
        os.kill(self.pids[rank], signal.SIGKILL)
        wait_for(f"rank {rank} of {self.name} is dead", lambda: rank in self.statuses)

    def end(self) -> None:
        """Ask the ranks to end."""
        (self.folder / "end").touch()

    def condition(self) -> str:
        """Return how far each rank is, where it is, and what the launcher has written, for the message of a failure."""
        return "\n".join([*map(self._condition_of, range(len(self.pids))), f"launcher: {_end_of(self.errors)}"])

    def _condition_of(self, rank: int) -> str:
        if rank in self.statuses:
            return f"rank {rank} ended with status {self.statuses[rank]} at step {self.step(rank)}"
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pids[rank], STACKS_SIGNAL)
        time.sleep(0.2)  # until it has written its stacks
        return f"rank {rank} runs, at step {self.step(rank)}: {_end_of(self.folder / f'stacks{rank}')}"

    def split_steps(self) -> list[int]:
        """Return the steps in which the ranks had different values."""
        one, other = self.values(0), self.values(1)
        return [step for step in one.keys() & other.keys() if one[step] != other[step]]


class JobLauncher:
    """Starts jobs, and collects the exit statuses of their ranks."""

    def __init__(self, folder: Path, agent_socket: Path) -> None:
        environment = {
            **os.environ,
            "FLYBALL_SOCKET": str(agent_socket),
            "OMP_NUM_THREADS": "1",
            "GLOO_SOCKET_IFNAME": "lo",
        }
        self._folder = folder
        self._jobs: dict[str, AdjustedJob] = {}
        command = [sys.executable, "-m", "tests.adjusted_jobs"]
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / ERRORS).open("ab") as errors:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def start(self, name: str) -> AdjustedJob:
        """Start a job."""
        folder = self._folder / name
        folder.mkdir(parents=True)
        job = self._jobs[name] = AdjustedJob(name, folder)
        job.release()
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"name": name, "folder": str(folder), "port": free_port()}) + "\n")
        self._process.stdin.flush()
        return job

    def close(self) -> None:
        """Kill everything."""
        for job in self._jobs.values():
            for rank, pid in enumerate(job.pids):
                if rank not in job.statuses:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            news = json.loads(line)
            job = self._jobs[news["name"]]
            if "pids" in news:
                job.pids = news["pids"]
            else:
                job.statuses[news["rank"]] = news["status"]


@contextlib.contextmanager
def job_launcher(folder: Path, agent_socket: Path) -> Iterator[JobLauncher]:
    """Launch jobs until the block ends."""
    launcher = JobLauncher(folder, agent_socket)
    try:
        yield launcher
    finally:
        launcher.close()


def known(collector: Collector, job: AdjustedJob) -> bool:
    """Return True if the collector knows the value of both ranks and how long their steps take."""
    with contextlib.suppress(urllib.error.HTTPError):
        answer = collector.get(f"/api/v1/runs/{job.name}/values")
        steps = [rank["step"] or 0 for rank in collector.get(f"/api/v1/runs/{job.name}")["ranks"]]
        if len(steps) != RANKS or min(steps) < 2:
            return False
        declared = [each["ranks"] for each in answer["values"] if each["name"] == VALUE]
        return bool(answer["complete"]) and declared == [RANKS]
    return False


def wait_until_known(collector: Collector, job: AdjustedJob) -> None:
    """Wait until the collector knows the values of a job. A failure shows what was missing."""
    try:
        wait_for(f"{job.name} is known", lambda: known(collector, job), seconds=KNOWN_SECONDS, pause_seconds=0.2)
    except GaveUp as error:
        answers = [_answer(collector, f"/api/v1/runs/{job.name}{part}") for part in ("/values", "")]
        raise GaveUp("\n".join([str(error), *answers, job.condition(), collector.tail()])) from None


def _answer(collector: Collector, path: str) -> str:
    try:
        return f"{path}: {json.dumps(collector.get(path))}"
    except OSError as error:  # urllib's errors are
        return f"{path}: {error!r}"


def _end_of(file: Path, characters: int = 2000) -> str:
    return file.read_text(errors="replace")[-characters:] if file.exists() else "nothing"


def propose(collector: Collector, run: str, to: int) -> dict[str, Any]:
    """Offer a value as an operator; a change that waits for approval is approved."""
    found = _post(collector, "adjustments", {"run": run, "name": VALUE, "to": to, "why": "a test"})
    if found["state"] == "proposed":
        found = _post(collector, f"adjustments/{found['id']}/approve", {"why": "a test"})
    return found


def adjustment(collector: Collector, name: str) -> dict[str, Any]:
    """Return an adjustment by its id."""
    found: dict[str, Any] = collector.get(f"/api/v1/adjustments/{name}")
    return found


def answer_of(found: dict[str, Any], rank: int) -> dict[str, Any] | None:
    """Return the newest answer of a rank to an offer."""
    return next((each for each in found["answers"] if each["rank"] == str(rank)), None)


def _post(collector: Collector, path: str, fields: dict[str, object]) -> dict[str, Any]:
    headers = {"Content-Type": "application/json", "X-Flyball-Operator": "1"}
    request = urllib.request.Request(f"{collector.url}/api/v1/{path}", json.dumps(fields).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            found: dict[str, Any] = json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            raise AssertionError(f"{path}: {error.code} {error.read().decode()}") from None
    return found


def _train(name: str, rank: int, folder: Path, port: int) -> None:
    """Train as one rank until the file `end` is there."""
    import torch.distributed as dist  # noqa: PLC0415  before the fork

    import flyball  # noqa: PLC0415  in the rank itself

    faulthandler.register(STACKS_SIGNAL, (folder / f"stacks{rank}").open("w"))
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=RANKS)
    with (
        (folder / f"steps{rank}").open("w", buffering=1) as lines,
        flyball.run(name, rank=rank, world_size=RANKS, policy="ask") as run,
    ):
        value = run.value(VALUE, 1, choices=(1, 2, 4), safety=2)
        while not (folder / "end").exists():
            if run.last_step >= int((folder / f"limit{rank}").read_text()):
                time.sleep(_STEP_SECONDS)
                continue
            lines.write(f"{run.last_step + 1} {value.now}\n")
            time.sleep(_STEP_SECONDS / value.now)
            run.step()


def _fork(name: str, rank: int, folder: Path, port: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        _train(name, rank, folder, port)
        status = 0
    except BaseException as error:  # noqa: BLE001  it must not go on as the launcher
        print(f"rank {rank} of {name}: {error!r}", file=sys.stderr, flush=True)
    os._exit(status)


def main() -> NoReturn:
    """Start a job for each line of input, and print which ranks were started and how they ended."""
    import torch.distributed  # noqa: PLC0415  once, for all jobs

    assert torch.distributed.is_available()
    ranks: dict[int, tuple[str, int]] = {}
    rest = b""
    while True:
        if select.select([0], [], [], 0.05)[0]:
            chunk = os.read(0, 65536)  # a buffer would hide the next lines from select
            if not chunk:
                os._exit(0)
            *lines, rest = (rest + chunk).split(b"\n")
            for order in map(json.loads, lines):
                pids = [_fork(order["name"], rank, Path(order["folder"]), order["port"]) for rank in range(RANKS)]
                ranks.update({pid: (order["name"], rank) for rank, pid in enumerate(pids)})
                print(json.dumps({"name": order["name"], "pids": pids}), flush=True)
        while ranks and (ended := os.waitpid(-1, os.WNOHANG))[0]:
            name, rank = ranks.pop(ended[0])
            print(json.dumps({"name": name, "rank": rank, "status": os.waitstatus_to_exitcode(ended[1])}), flush=True)


if __name__ == "__main__":
    main()
