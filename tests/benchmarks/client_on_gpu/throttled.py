"""Checks on a real GPU that an agreed throttle lowers its use, power and temperature, and that it ends again."""

import json
import subprocess
import time
from collections.abc import Iterator
from statistics import mean
from typing import Any

from tests.benchmarks.client_on_gpu.training import StandinAgent, Training

_SECONDS = 12.0  # of each phase; readings of its second half count
_SHARE = 0.5
_AHEAD = 400  # steps from the offer to the change: more than the rank needs to answer


def throttled(torch: Any, agent: StandinAgent) -> Iterator[tuple[bool, str]]:
    """Train at full speed, then with an offered and committed throttle, then at full speed again."""
    import flyball  # noqa: PLC0415  after the socket is set

    training = Training(torch)
    with flyball.run("throttled", policy="auto") as run:
        agent.push("throttled", {"kind": "adjustments", "enabled": True})
        before = _phase(training, run)
        _change(agent, training, run, "aa01", 0, _SHARE)
        during = _phase(training, run)
        _change(agent, training, run, "aa02", _SHARE, 0)
        after = _phase(training, run)
    for name, phase in (("before", before), ("throttled", during), ("after", after)):
        yield True, f"{name}: {phase['rate']:.1f} steps/s, {phase['watts']:.0f} W, {phase['celsius']:.1f} °C"
    answers = [(line["kind"], line["id"]) for line in agent.lines if line["kind"] in {"prepared", "applied", "aborted"}]
    expected = [(kind, offer) for offer in ("aa01", "aa02") for kind in ("prepared", "applied")]
    yield answers == expected, f"answers: {answers}"
    ratio = during["rate"] / before["rate"]
    yield abs(ratio - (1 - _SHARE)) < 0.1, f"the throttle of {_SHARE} leaves {ratio:.1%} of the speed"
    yield during["watts"] < 0.85 * before["watts"], "the GPU takes less power"
    yield during["celsius"] < before["celsius"] - 1.0, "the GPU is cooler"
    yield abs(after["rate"] / before["rate"] - 1) < 0.05, "without the throttle, the speed is the one before"


def _phase(training: Training, run: Any) -> dict[str, float]:
    """Train for a while. Return the steps a second, and what the driver reads."""
    began, steps, next_reading = time.perf_counter(), 0, _SECONDS / 2
    watts, degrees = [], []
    while (passed := time.perf_counter() - began) < _SECONDS:
        training.step(run)
        steps += 1
        if passed >= next_reading:
            next_reading += 1.0
            watt, celsius = _reading()
            watts.append(watt)
            degrees.append(celsius)
    training.torch.cuda.synchronize()
    return {
        "rate": steps / (time.perf_counter() - began),
        "watts": mean(watts),
        "celsius": mean(degrees),
    }


def _reading() -> tuple[float, float]:
    command = ["nvidia-smi", "--query-gpu=power.draw,temperature.gpu", "--format=csv,noheader,nounits"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split(",")
    return float(found[0]), float(found[1])


def _change(agent: StandinAgent, training: Training, run: Any, offer: str, value: float, to: float) -> None:
    """Offer a change, commit it when the rank is prepared, and train until it is applied."""
    at = run.last_step + _AHEAD
    message = {"id": offer, "name": "throttle", "from": value, "to": to, "at": at, "attempt": run.attempt}
    agent.push("throttled", {"kind": "offer", **message, "expires_seconds": 30, "safety": 1, "because": "heat"})
    committed = False
    end = time.perf_counter() + 60
    while time.perf_counter() < end:
        training.step(run)
        kinds = {line["kind"] for line in agent.lines if line.get("id") == offer}
        if "prepared" in kinds and not committed:
            committed = True
            agent.push("throttled", {"kind": "commit", "id": offer})
        if kinds & {"applied", "aborted", "veto"}:
            return
    raise TimeoutError(f"no decision about {json.dumps(message)}")
