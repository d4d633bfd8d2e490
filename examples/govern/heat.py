"""A GPU whose fans fail is throttled in time, so that it never slows itself down.

    python -m examples.govern.heat       # needs a C compiler, for the stand-in GPUs

Two trainings run on two simulated GPUs with the same heat and the same failed fans. One lets Flyball act (policy auto),
the other does not (policy off). A GPU that reaches its limit slows down to less than half of its speed until it has
cooled. Sleeping a part of each step, early and no more than needed, costs less.
"""

import os
import tempfile
import time
from pathlib import Path
from typing import Any

import flyball
from examples.govern.daemons import Daemons, daemons
from examples.govern.figures import Result, Shown, demonstrate, parser
from examples.govern.hot_gpu import SLOWDOWN_CELSIUS, HotGpu
from examples.govern.trainings import Ending, Training, emit, training
from flyball_agent.standin.cards import H100
from flyball_agent.standin.library import StandIn
from flyball_agent.standin.scenario import Scenario

MODULE = "examples.govern.heat"
GOVERNED, LEFT = "governed", "left-alone"
RUNS = {GOVERNED: "auto", LEFT: "off"}
BUSY_SECONDS = 0.05  # of a step at full speed
TOKENS = 16_384  # of a step
HEALTHY_SECONDS, FAILED_SECONDS = 12.0, 150.0
PLAY_SECONDS = 0.5
_HW_THERMAL = 0x40  # nvmlClocksEventReasonHwThermalSlowdown
_MEMORY_BYTES = 40 * 2**30


def train(name: str) -> None:
    """Train on a simulated GPU until asked to end."""
    ending, gpu, tokens = Ending(), HotGpu(), 0
    began = last = shown = time.monotonic()
    with flyball.run(name, policy=RUNS[name]) as run:
        while not ending:
            time.sleep(BUSY_SECONDS / gpu.speed)
            busy = time.monotonic() - last  # a busy machine lets it sleep longer: that must not cool the GPU
            tokens += TOKENS
            run.step(tokens=TOKENS)  # sleeps here while throttled
            now = time.monotonic()
            gpu.advance(busy, now - last, failed=now - began > HEALTHY_SECONDS)
            last = now
            if now - shown >= PLAY_SECONDS / 2:
                shown = now
                emit(
                    seconds=now - began, tokens=tokens, temperature=gpu.temperature, power=gpu.power, slowed=gpu.slowed,
                    slowed_seconds=gpu.slowed_seconds, hottest=gpu.hottest,
                )  # fmt: skip


def scenario(started: float, states: list[tuple[int, dict[str, Any]]]) -> Scenario:
    """Return the GPUs as the driver reports them now, from the process and the last line of each training."""
    played = Scenario(gpus=len(states)).set(H100).started_at(started)
    for gpu, (pid, state) in enumerate(states):
        slowed, temperature = bool(state.get("slowed")), round(state.get("temperature", 0.0) or 66)
        nanoseconds = float(state.get("slowed_seconds", 0.0)) * 1e9
        played.set(
            {
                "uuid": f"GPU-00000000-0000-4000-8000-{gpu:012}",
                "utilization_gpu": 97,
                "memory_used": _MEMORY_BYTES,
                "power": round(1000 * float(state.get("power", 600))),
                "temperature": temperature,
                "temperature_margin": max(0, round(SLOWDOWN_CELSIUS) - temperature),
                "clock_sm": 750 if slowed else 1875,
                "throttle_reasons": _HW_THERMAL if slowed else 0,
                "throttle_hw_thermal": nanoseconds,
            },
            gpu,
        ).process(gpu, pid, _MEMORY_BYTES, utilization=97)
    return played


def show(fleet: Daemons, gpus: StandIn, started: float) -> Result:
    """Run both trainings through the failure of the fans."""
    with (
        training(MODULE, "--train", GOVERNED, agent_socket=fleet.socket) as governed,
        training(MODULE, "--train", LEFT, agent_socket=fleet.socket) as left,
    ):
        runs = [governed, left]
        until = time.monotonic() + HEALTHY_SECONDS + FAILED_SECONDS
        while time.monotonic() < until:
            gpus.play(scenario(started, [(each.process.pid, each.lines[-1] if each.lines else {}) for each in runs]))
            time.sleep(PLAY_SECONDS)
        for each in runs:
            each.end()
    return _result(fleet, governed, left)


def _result(fleet: Daemons, governed: Training, left: Training) -> Result:
    acted, alone = governed.lines[-1], left.lines[-1]
    lost, slowed = _lost_share(governed), _lost_share(left)
    cool = acted["hottest"] < SLOWDOWN_CELSIUS
    return Result(
        fleet.adjustments(GOVERNED),
        [
            Shown("hottest, governed", f"{acted['hottest']:.1f} °C", f"< {SLOWDOWN_CELSIUS:.0f} °C", cool),
            Shown("slowed down, governed", f"{acted['slowed_seconds']:.0f} s", "0 s", acted["slowed_seconds"] == 0),
            Shown("slowed down, left alone", f"{alone['slowed_seconds']:.0f} s"),
            Shown("tokens lost, governed", f"{lost:.1%}", f"< {slowed:.1%}", lost < slowed),
            Shown("tokens lost, left alone", f"{slowed:.1%}"),
        ],
    )


def _lost_share(run: Training) -> float:
    """Return the share of the tokens that its speed with healthy fans would have made since they failed."""
    healthy = [line for line in run.lines if line["seconds"] < HEALTHY_SECONDS]
    first, last = healthy[-1], run.lines[-1]
    rate: float = (first["tokens"] - healthy[0]["tokens"]) / (first["seconds"] - healthy[0]["seconds"])
    made: float = (last["tokens"] - first["tokens"]) / (last["seconds"] - first["seconds"])
    return 1 - made / rate


def main() -> None:
    """Run the demonstration, or one of its trainings."""
    options = parser(__doc__)
    options.add_argument("--train", choices=list(RUNS), help="be this training")
    chosen = options.parse_args()
    if chosen.train:
        train(chosen.train)
        return

    def run() -> Result:
        with tempfile.TemporaryDirectory() as folder:
            started = time.monotonic()
            gpus = StandIn(Path(folder), scenario(started, [(os.getpid(), {})] * len(RUNS)))
            with daemons(library=gpus.library) as fleet:
                return show(fleet, gpus, started)

    demonstrate("The fans of two GPUs fail; one of their trainings lets Flyball act …", run, as_json=chosen.json)


if __name__ == "__main__":
    main()
