"""A change that does harm is taken back.

    python -m examples.govern.harm

A training offers a switch, `fast_path`, that in truth makes each step a quarter slower. A person turns it on. The
collector compares the steps before and after, finds the loss, and turns it off again.
"""

import time
from typing import Any

import flyball
from examples.govern.daemons import Daemons, daemons
from examples.govern.figures import Result, Shown, demonstrate, parser
from examples.govern.trainings import Ending, training

RUN = "harm"
STEP_SECONDS = 0.02
SLOWER = 1.25
HISTORY_SECONDS = 30.0
"""Time before the change: its effect is compared with it."""


def train() -> None:
    """Train until asked to end. The switch is a lie."""
    factor = 1.0
    ending = Ending()
    with flyball.run(RUN, policy="auto") as run:

        @run.on("fast_path", choices=(False, True), initial=False, safety=1)
        def switch(on: bool) -> bool:
            nonlocal factor
            factor = SLOWER if on else 1.0
            return on

        while not ending:
            time.sleep(factor * STEP_SECONDS)
            run.step(tokens=1000)


def show(fleet: Daemons) -> Result:
    """Turn the switch on as a person would, and wait for what happens."""
    with training("examples.govern.harm", "--train", agent_socket=fleet.socket):
        fleet.wait("the switch is known", lambda: fleet.value(RUN, "fast_path") is not None)
        time.sleep(HISTORY_SECONDS)
        fleet.post("/api/v1/adjustments", run=RUN, name="fast_path", to=True, why="it must be faster")
        done = fleet.wait("it is taken back", lambda: _rolled_back(fleet), seconds=240)
        fleet.wait("the switch is off again", lambda: fleet.value(RUN, "fast_path") is False)
        effect = done["effect"]
        within = effect["gain_low"] <= 1 / SLOWER <= effect["gain_high"]
        return Result(
            fleet.adjustments(RUN),
            [
                Shown("state of the harmful change", done["state"], "rolled_back", done["state"] == "rolled_back"),
                Shown("measured speed", f"×{effect['gain']:.3f}", f"×{1 / SLOWER:.3f} on an idle machine"),
                Shown(
                    "its interval of 90 %", f"{effect['gain_low']:.3f} to {effect['gain_high']:.3f}", "", within or None
                ),
                Shown("steps under the harmful change", str(effect["steps_after"])),
            ],
        )


def _rolled_back(fleet: Daemons) -> dict[str, Any] | None:
    """Return the change when it is over."""
    ended = ("rolled_back", "kept", "failed", "vetoed", "aborted", "expired", "withdrawn")
    found = [each for each in fleet.adjustments(RUN) if not each.get("inverse_of") and each["state"] in ended]
    return found[0] if found else None


def main() -> None:
    """Run the demonstration, or a rank of its training."""
    options = parser(__doc__)
    options.add_argument("--train", action="store_true", help="be the training")
    chosen = options.parse_args()
    if chosen.train:
        train()
        return

    def run() -> Result:
        with daemons() as fleet:
            return show(fleet)

    demonstrate("A switch that makes each step a quarter slower is turned on …", run, as_json=chosen.json)


if __name__ == "__main__":
    main()
