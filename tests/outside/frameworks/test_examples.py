"""The examples of examples/training/ with their real packages, a real agent and a real collector."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.processes import Agent, Collector, GaveUp, free_port, wait_for

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "training"
TWICE = str(Path(__file__).parent / "twice.py")

NEEDS = {
    "service_learner": "json",  # the longest last
    "jax_loop": "jax",
    "plain_pytorch": "torch",
    "accelerate_loop": "accelerate",
    "two_ranks": "torch",
    "keras_fit": "keras",
    "huggingface_trainer": "transformers",
    "lightning_fit": "lightning",
    "lightning_manual": "lightning",
    "deepspeed_engine": "deepspeed",
}
"""The examples, and the package that each needs."""

STEPS = {"service_learner": 400, "plain_pytorch": 60, "lightning_fit": 30}
FEW_STEPS = 20
RANKS = {"two_ranks": 2}
TOKENS_A_STEP = {"plain_pytorch": 16 * 32, "huggingface_trainer": 2 * 4 * 16}
SAMPLES_A_STEP = {
    "service_learner": 1,
    "jax_loop": 64,
    "plain_pytorch": 16,
    "accelerate_loop": 32,
    "two_ranks": 32,
    "keras_fit": 16,
    "huggingface_trainer": 8,
    "lightning_fit": 32,
    "lightning_manual": 16,
    "deepspeed_engine": 32,
}

_SINGLE = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1"}


def _is_installed(name: str) -> bool:
    return importlib.util.find_spec(NEEDS[name]) is not None


def _steps(name: str) -> int:
    return STEPS.get(name, FEW_STEPS)


def _commands(name: str) -> list[list[str]]:
    """Return the commands that run an example without and with the client."""
    script = [str(EXAMPLES / f"{name}.py"), "--steps", str(_steps(name))]
    if name not in RANKS:
        return [[sys.executable, TWICE, "without,with", *script]]
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(RANKS[name])]
    return [[*launcher, TWICE, way, *script] for way in ("without", "with")]


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    """A collector with one host, whose agent the examples find."""
    folder = tmp_path_factory.mktemp("fleet")
    with Collector(folder / "c").start_ready() as collector, Agent(folder / "a", collector.grpc_port).start() as agent:
        wait_for("the agent listens", agent.socket.exists)
        collector.agent_socket = agent.socket  # type: ignore[attr-defined]  # only these tests need it
        yield collector


@dataclass(frozen=True)
class Ended:
    """An example that has run to its end: its output, and what the collector knew about it then."""

    output: str
    last_steps: list[int]  # of each rank
    samples: dict[str, float]  # by rank
    tokens: dict[str, float]


@pytest.fixture(scope="module")
def ended(collector: Collector, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[Ended]]]:
    """Run all examples, two at a time."""
    environment = {
        **os.environ,
        "FLYBALL_SOCKET": str(collector.agent_socket),  # type: ignore[attr-defined]
        "OMP_NUM_THREADS": "1",  # threads that wait for each other are slow on a busy machine
        "KERAS_BACKEND": "torch",
        "KERAS_HOME": str(tmp_path_factory.mktemp("keras")),
        "HF_HUB_OFFLINE": "1",
        "JAX_PLATFORMS": "cpu",
    }
    with ThreadPoolExecutor(2) as pool:
        names = [name for name in reversed(NEEDS) if _is_installed(name)]
        yield {name: pool.submit(_run, name, environment, collector) for name in names}


def _run(name: str, environment: dict[str, str], collector: Collector) -> Ended:
    """Run an example and wait until all its steps have arrived. Later the collector forgets its sums."""
    more = _SINGLE | {"MASTER_PORT": str(free_port())} if name == "deepspeed_engine" else {}
    output = ""
    for command in _commands(name):
        done = subprocess.run(command, env=environment | more, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr[-3000:]
        output += done.stdout
    run = name.replace("_", "-")
    last = [_steps(name)] * RANKS.get(name, 1)
    wait_for(f"the last steps of {run}", lambda: _last_steps(collector, run) == last)
    samples = float(SAMPLES_A_STEP[name] * _steps(name))
    with suppress(GaveUp):  # scrapes share a page for a second: it may be older than the last step
        wait_for("the last samples", lambda: set(_sums(collector, "samples", run).values()) == {samples}, seconds=20)
    return Ended(output, _last_steps(collector, run), *(_sums(collector, what, run) for what in ("samples", "tokens")))


def _last_steps(collector: Collector, run: str) -> list[int]:
    """Return the last step of each rank."""
    return [rank["step"] for rank in collector.get(f"/api/v1/runs/{run}")["ranks"]]


def _sums(collector: Collector, what: str, run: str) -> dict[str, float]:
    """Return the sum of each rank of a run, as Prometheus sees it."""
    with urllib.request.urlopen(f"{collector.url}/metrics", timeout=60) as answer:
        page = answer.read().decode()
    found = re.findall(rf"^flyball_run_{what}_total{{(.*)}} (\S+)$", page, re.MULTILINE)
    labels = [dict(re.findall(r'(\w+)="([^"]*)"', text)) for text, _ in found]
    return {each["rank"]: float(value) for each, (_, value) in zip(labels, found, strict=True) if each["run"] == run}


@pytest.fixture(params=list(NEEDS))
def example(request: pytest.FixtureRequest) -> str:
    """The name of an example whose package is installed."""
    name = str(request.param)
    if not _is_installed(name):
        pytest.skip(f"{NEEDS[name]} is not installed")
    return name


def test_losses_are_bit_equal_with_and_without_the_client(example: str, ended: dict[str, Future[Ended]]) -> None:
    """Each loss that an example prints has the same bits with the client, also in each of two ranks."""
    printed = _printed(ended[example].result().output)
    without, with_client = [sorted(map(_losses, printed[way])) for way in ("without", "with")]
    assert without == with_client
    assert len(without) == RANKS.get(example, 1)
    for losses in without:
        assert len(set(losses)) >= _steps(example)  # they differ from step to step


def _printed(output: str) -> dict[str, list[list[str]]]:
    """Return the lines of each process, without and with the client. Frameworks print lines of their own."""
    found: dict[str, list[list[str]]] = {"without": [], "with": []}
    for part in output.split("twice:")[1:]:
        printed, _ = json.JSONDecoder().raw_decode(part)
        for way, lines in printed.items():
            found[way].append(lines)
    return found


def _losses(lines: list[str]) -> list[str]:
    """Return the lines with losses, without the times and warnings that some packages print."""
    return [line for line in lines if line.startswith(("step ", "batch ", "rank "))]


def test_the_run_is_seen_with_its_steps_and_ranks(example: str, ended: dict[str, Future[Ended]]) -> None:
    """The collector knows the last step of each rank, the samples, and the tokens where there are some."""
    seen, steps, ranks = ended[example].result(), _steps(example), RANKS.get(example, 1)
    assert seen.last_steps == [steps] * ranks
    assert seen.samples == {str(rank): SAMPLES_A_STEP[example] * steps for rank in range(ranks)}
    tokens = TOKENS_A_STEP.get(example)
    assert seen.tokens == ({"0": tokens * steps} if tokens else {})
