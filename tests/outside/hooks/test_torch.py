"""Training scripts of torch under `flyball run`: they compute, fail and end as without it, and report their steps."""

import contextlib
import importlib.util
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flyball_audit.finding import Severity
from flyball_audit.review import review
from flyball_audit.settings import Settings
from tests.client.adjustments.adjusting_agent import AdjustingAgent, wait_until
from tests.client.hooks.reports import (
    FLYBALL,
    SECONDS,
    Reports,
    environment,
    flyball_run,
    last_step,
    listening,
    total,
)

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
HERE = Path(__file__).parent
MEASURABLE = ("retained-graph", "loader-without-workers")


@pytest.fixture(name="reports")
def _reports(tmp_path: Path) -> Iterator[Reports]:
    with listening(tmp_path / "agent.sock") as found:
        yield found


def variables(folder: Path) -> dict[str, str]:
    """Return the variables that name the socket."""
    return {"FLYBALL_SOCKET": str(folder / "agent.sock")}


def test_a_script_computes_fails_and_ends_as_without_us(tmp_path: Path, reports: Reports) -> None:
    """Losses to the bit, random streams, workers, tracebacks, warnings, input and the end by Ctrl-C are the same."""
    command = [sys.executable, str(HERE / "plain.py"), str(tmp_path), "-x"]
    alone = subprocess.run(
        command, input="in", capture_output=True, text=True, check=False, timeout=SECONDS, env=environment()
    )
    done = flyball_run(command, "--total-steps", "24", stdin="in", variables=variables(tmp_path))
    assert done.stdout == alone.stdout
    assert done.stderr == alone.stderr
    assert "sample 3 is broken" in done.stdout
    assert alone.returncode == done.returncode == -signal.SIGINT
    (lines,) = reports.runs()  # the workers of the loader report nothing
    assert (lines[0]["run"].partition("-")[0], lines[0]["total_steps"]) == ("plain", 24)
    assert last_step(lines) >= 2 * 12 + 6
    assert lines[-1]["kind"] == "goodbye"
    assert total(lines, "samples") == 8 * total(lines, "steps")
    parts = [total(lines, name) for name in ("data_wait_seconds", "forward_backward", "optimizer", "checkpoint")]
    assert all(part > 0 for part in parts)
    assert sum(parts) <= total(lines, "step_seconds")


def test_the_owner_may_let_workers_of_the_loader_be_changed(tmp_path: Path) -> None:
    """By --policy. The change is made where an epoch of the loader that trains begins, and of no other one."""
    end, agent = tmp_path / "end", AdjustingAgent(tmp_path / "agent.sock")
    command = [FLYBALL, "run", "--policy", "auto", "--", sys.executable, str(HERE / "epochs.py"), str(end)]
    with (
        contextlib.closing(agent),
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment(**variables(tmp_path))) as process,
    ):
        try:
            wait_until("it reports", lambda: _of_kind(agent, "steps"))
            agent.allow()
            wait_until("it declares", lambda: agent.of_kind("able") and "loader_workers" in agent.values())
            offer = _prepared(agent)
            agent.commit(offer)
            wait_until("it is applied", lambda: len(agent.answers(offer)) > 1)
            assert (agent.answers(offer)[-1]["kind"], agent.answers(offer)[-1].get("observed")) == ("applied", 1)
        finally:
            end.touch()
        output, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert (output.splitlines()[0], output.splitlines()[-1]) == ("0 0 2", "1 0 2")


def _of_kind(agent: AdjustingAgent, kind: str) -> list[dict[str, Any]]:
    """Return the messages of a kind; none before the process has connected."""
    with contextlib.suppress(TimeoutError):
        return agent.of_kind(kind)
    return []


def _prepared(agent: AdjustingAgent) -> str:
    """Offer one worker until the process can make the change: on a busy machine an offer may come too late."""
    for ahead in (60, 100, 200, 400, 800):
        offer = agent.offer("loader_workers", 0, 1, agent.of_kind("steps")[-1]["step"] + ahead)
        wait_until("it has answered", lambda: agent.answers(offer))  # noqa: B023  waited for
        if agent.answers(offer)[0]["kind"] == "prepared":
            return offer
    raise AssertionError(f"not prepared: {agent.answers(offer)}")


def test_ranks_of_torchrun_report_to_one_run(tmp_path: Path, reports: Reports) -> None:
    """The launcher is not a rank."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [*launcher, str(HERE / "ranks.py")]
    done = flyball_run(command, "--label", "team=nlp", variables=variables(tmp_path) | {"OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    ranks = sorted(reports.runs(), key=lambda lines: int(lines[0]["rank"]))
    assert [(lines[0]["rank"], lines[0]["world_size"]) for lines in ranks] == [(0, 2), (1, 2)]
    assert ranks[0][0]["run"] == ranks[1][0]["run"]
    assert all(lines[0]["labels"]["team"] == "nlp" for lines in ranks)
    assert [last_step(lines) for lines in ranks] == [5, 5]


def test_spawned_ranks_and_workers_work(tmp_path: Path, reports: Reports) -> None:
    """Nothing of ours must be pickled; the rank is the one that the script has passed to torch."""
    command = [sys.executable, str(HERE / "ranks.py"), str(tmp_path / "meeting")]
    done = flyball_run(command, variables=variables(tmp_path) | {"OMP_NUM_THREADS": "1"})
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    ranks = sorted(reports.runs(), key=lambda lines: int(lines[0]["rank"]))
    assert [(lines[0]["rank"], lines[0]["world_size"], last_step(lines)) for lines in ranks] == [(0, 2, 5), (1, 2, 5)]


def test_compiled_optimizers_have_the_same_graphs(tmp_path: Path, reports: Reports) -> None:
    """No graph is split, nothing is warned of, and ordinary steps are still found."""
    done = flyball_run([sys.executable, str(HERE / "compiled.py")], variables=variables(tmp_path))
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
    assert "UserWarning" not in done.stderr
    assert [last_step(lines) for lines in reports.runs()] == [3]


def test_an_interactive_python_reports_until_it_opens_its_own_run(tmp_path: Path, reports: Reports) -> None:
    """As the kernel of a notebook does: one statement after the other. An end without cleaning up keeps its status."""
    statements = [
        "import os, torch",
        "weight = torch.nn.Parameter(torch.ones(4))",
        "optimizer = torch.optim.SGD([weight], lr=0.1)",
        "for _ in range(3): optimizer.step()",
        "",
        "import flyball",
        "run = flyball.run('own')",
        "loader = torch.utils.data.DataLoader(torch.ones(20, 4), batch_size=4)",
        "for batch in run.data(loader): optimizer.step(); run.step(samples=len(batch))",
        "",
        "run.finish()",
        "print(weight.sum().item(), flush=True)",
        "os._exit(7)",
    ]
    done = flyball_run([sys.executable, "-i", "-q"], stdin="\n".join(statements) + "\n", variables=variables(tmp_path))
    assert (done.returncode, done.stdout) == (7, "4.0\n"), done.stderr
    hooked, own = reports.runs()
    assert (last_step(hooked), hooked[-1]["kind"]) == (3, "goodbye")
    assert (own[0]["run"], last_step(own), total(own, "samples")) == ("own", 5, 20)
    assert own[-1]["kind"] == "goodbye"


def test_measured_facts_confirm_findings_of_the_audit(tmp_path: Path) -> None:
    """The graph that is kept makes memory grow, and the loader without workers is waited for."""
    script = HERE / "wasteful.py"
    found = {finding.rule: finding.severity for finding in review([script], Settings()).findings}
    assert {found[rule] for rule in MEASURABLE} == {Severity.NOTE}
    done = subprocess.run(
        [FLYBALL, "audit", "--format", "json", "--run", "--", sys.executable, str(script)],
        capture_output=True, text=True, check=False, timeout=SECONDS, env=environment(**variables(tmp_path)),
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    judged = {each["rule"]: each["severity"] for each in json.loads(done.stdout)["findings"]}
    assert {judged[rule] for rule in MEASURABLE} == {"warning"}


@pytest.mark.parametrize(
    ("framework", "steps", "per_step"),
    [
        pytest.param(
            name, steps, per_step,
            marks=pytest.mark.skipif(importlib.util.find_spec(name) is None, reason=f"{name} is not installed"),
        )
        for name, steps, per_step in (("transformers", 10, 8), ("lightning", 8, 10))
    ],
)  # fmt: skip
def test_trainers_report_without_a_change(
    tmp_path: Path, reports: Reports, framework: str, steps: int, per_step: float
) -> None:
    """With the total of their steps, samples of accumulated batches, and equal results."""
    done = flyball_run([sys.executable, str(HERE / "framework.py"), framework], variables=variables(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"{steps} True"
    (lines,) = reports.runs()
    assert (lines[0]["total_steps"], last_step(lines)) == (steps, steps)
    assert total(lines, "samples") == pytest.approx(per_step * total(lines, "steps"), abs=per_step)
    assert total(lines, "checkpoint") > 0
    assert 0 < total(lines, "data_wait_seconds") < total(lines, "step_seconds")
