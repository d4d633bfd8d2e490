"""The `flyball` command. Light until it knows what is wanted: a host may have only the agent's packages."""

import atexit
import gc
import sys
from collections.abc import Sequence

from flyball.extras import advice, missing

COLLECTED_AFTER = 100_000
"""New objects of a command after which Python looks for garbage: imports make many and no garbage, and after every 700,
as is usual, a twentieth of a short command's time goes into looking."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Pass daemons their own arguments; everything else is the command line's."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    part = words[0] if words and words[0] in {"agent", "collector"} else "planner"
    absent = missing(part)
    if absent:
        print(advice(f"flyball {words[0]}" if words else "flyball", part, absent), file=sys.stderr)
        return 2
    if part == "agent":
        from flyball_agent.command import main as run_agent

        return run_agent(words[1:])
    if part == "collector":
        from flyball_collector.command import main as run_collector

        return run_collector(words[1:])
    gc.set_threshold(COLLECTED_AFTER)
    atexit.register(gc.freeze)  # else Python looks for garbage once more in all there is, and all of it ends anyway
    from flyball.command import run

    return run(words)


def agent() -> int:
    """The command `flyball-agent`."""
    return main(["agent", *sys.argv[1:]])


def collector() -> int:
    """The command `flyball-collector`."""
    return main(["collector", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
