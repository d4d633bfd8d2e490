"""A training of two ranks whose memory runs out goes on in smaller slices, with the same losses.

    python -m examples.govern.oom        # needs PyTorch

Two processes train a language model with data parallelism (gloo, fp64). At the second step the memory of rank 1
is limited (RLIMIT_AS), so that its slices no longer fit: the allocator fails in the middle of a step. The rank
repeats the step in smaller slices, without disturbing the other one. The collector hears of it and offers both ranks
the smaller size, so that none waits for the other. The losses are compared with those of the same training without the
limit.
"""

import contextlib
import socket
import time
from collections.abc import Callable
from typing import Any

from examples.govern.daemons import Daemons, DemonstrationFailed, daemons
from examples.govern.figures import Result, Shown, demonstrate, parser
from examples.govern.trainings import Training, training

Line = dict[str, Any]

MODULE = "examples.govern.language_model"
RUN = "oom"
RANKS = 2
ROWS = 32  # of a rank in a step
LIMITED_AT = 2  # step
COMPARED_STEPS = 24
MOST_SECONDS = 150.0
RELATIVE = 1e-12  # fp64; the order of additions differs


def show(fleet: Daemons) -> Result:
    """Train without and with the limit, and compare."""
    undisturbed = _trained(fleet, [f"{RUN}-undisturbed", "0", str(COMPARED_STEPS)], lambda _ranks: False)
    limited = _trained(fleet, [RUN, str(LIMITED_AT), "0"], lambda ranks: _is_settled(fleet, ranks))
    pairs = list(zip(undisturbed, limited, strict=True))
    difference = max(_difference(one, other) for one, other in pairs)
    retried = [line["step"] for line in limited[1] if line["micro"] < ROWS][:1]
    smaller = {lines[-1]["micro"] for lines in limited}
    return Result(
        fleet.adjustments(RUN),
        [
            Shown("step in which memory ran out", str(retried[0] if retried else None), "rank 1", bool(retried)),
            Shown("rows in a slice at the end", ", ".join(map(str, sorted(smaller))), "one size", len(smaller) == 1),
            Shown("steps compared", str(COMPARED_STEPS)),
            Shown("largest difference of a loss", f"{difference:.1e}", f"≤ {RELATIVE:g}", difference <= RELATIVE),
        ],
    )


def _trained(fleet: Daemons, arguments: list[str], settled: Callable[[list[Training]], bool]) -> list[list[Line]]:
    """Run both ranks to their end, or until they are settled. Return what each has printed, by rank."""
    shared = {"WORLD_SIZE": str(RANKS), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port())}
    shared |= {"GLOO_SOCKET_IFNAME": "lo", "MALLOC_MMAP_THRESHOLD_": str(2**20)}  # glibc returns larger blocks at once
    with contextlib.ExitStack() as stack:
        ranks = [
            stack.enter_context(
                training(MODULE, *arguments, agent_socket=fleet.socket, environment=shared | {"RANK": str(rank)})
            )
            for rank in range(RANKS)
        ]
        until = time.monotonic() + MOST_SECONDS
        while time.monotonic() < until and not settled(ranks):
            if any(each.process.poll() is not None for each in ranks):
                break
            time.sleep(0.2)
        ranks[0].ask_to_end()  # both end after the same step
        statuses = [each.result() for each in ranks]
        if any(statuses):
            raise DemonstrationFailed(f"the ranks have ended with the statuses {statuses}; see above")
        return [each.lines for each in ranks]


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _is_settled(fleet: Daemons, ranks: list[Training]) -> bool:
    """Return True if both ranks have the same smaller slices, by an adjustment that is over."""
    newest = [each.lines[-1] for each in ranks if each.lines]
    done = [each for each in fleet.adjustments(RUN) if each["state"] == "kept"]
    enough = len(newest) == RANKS and min(line["step"] for line in newest) >= COMPARED_STEPS
    return enough and bool(done) and all(line["micro"] < ROWS for line in newest)


def _difference(one: list[Line], other: list[Line]) -> float:
    pairs = list(zip(one[:COMPARED_STEPS], other[:COMPARED_STEPS], strict=True))
    return max(abs(float(a["loss"]) - float(b["loss"])) / abs(float(a["loss"])) for a, b in pairs)


def main() -> None:
    """Run the demonstration."""
    chosen = parser(__doc__).parse_args()

    def run() -> Result:
        with daemons() as fleet:
            return show(fleet)

    demonstrate("Two ranks train, and the memory of one of them runs out …", run, as_json=chosen.json)


if __name__ == "__main__":
    main()
