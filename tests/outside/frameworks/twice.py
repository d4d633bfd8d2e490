"""Runs a script without and with the client, in one process: `twice.py without,with SCRIPT ARGUMENTS…`.

Prints what the script printed each time, as JSON. Starting PyTorch and a framework costs seconds; so it happens once.
Ranks that meet need a process for each time: `twice.py without SCRIPT ARGUMENTS…`.
"""

import atexit
import io
import json
import os
import runpy
import sys
from contextlib import redirect_stdout
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[3])  # not this folder: a module in it must not hide a package

from tests.outside.frameworks import no_client  # noqa: E402  the path comes first


def output_of(script: str) -> list[str]:
    """Run the script and return the lines that it printed."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        runpy.run_path(script, run_name="__main__")
    return printed.getvalue().splitlines()


def main() -> None:
    """Run the script in the ways that the first argument lists."""
    _, ways, *sys.argv = sys.argv
    printed = {}
    if "without" in ways.split(","):
        sys.modules["flyball"] = no_client.module()
        printed["without"] = output_of(sys.argv[0])
        del sys.modules["flyball"]
    if "with" in ways.split(","):
        printed["with"] = output_of(sys.argv[0])
    os.write(1, f"twice:{json.dumps(printed)}\n".encode())  # at once: another rank writes to the same pipe
    if "RANK" in os.environ:
        # On a busy machine, gloo's threads abort one process of twenty at its end, also without the client.
        atexit._run_exitfuncs()
        sys.stderr.flush()
        os._exit(0)


if __name__ == "__main__":
    main()
