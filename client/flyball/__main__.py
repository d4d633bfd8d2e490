"""The `flyball` command. It imports little before it knows the command: a host may have only the agent's packages."""

import atexit
import gc
import sys
from collections.abc import Sequence

from flyball.extras import advice, missing

GARBAGE_THRESHOLD = 100_000
"""New objects before a garbage collection. Imports create many objects and no garbage: with the usual threshold of 700,
a twentieth of the time of a short command is spent on collections."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a daemon with its own arguments, or else a command. Ctrl-C ends it with 130, also during its imports."""
    try:
        return _main(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        return 130


def _main(arguments: list[str]) -> int:
    if arguments[:1] == ["run"]:  # the environment of a training may have no packages of ours
        from flyball.hooks.run_command import main as start

        return start(arguments[1:])
    part = arguments[0] if arguments and arguments[0] in {"agent", "collector"} else "planner"
    absent = missing(part)
    if absent:
        print(advice(f"flyball {arguments[0]}" if arguments else "flyball", part, absent), file=sys.stderr)
        return 2
    if part == "agent":
        from flyball_agent.command import main as run_agent

        return run_agent(arguments[1:])
    if part == "collector":
        from flyball_collector.command import main as run_collector

        return run_collector(arguments[1:])
    gc.set_threshold(GARBAGE_THRESHOLD)
    atexit.register(gc.freeze)  # skips the last collection: the process ends anyway
    from flyball.command import run

    return run(arguments)


def agent() -> int:
    """Run the `flyball-agent` command."""
    return main(["agent", *sys.argv[1:]])


def collector() -> int:
    """Run the `flyball-collector` command."""
    return main(["collector", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
