"""A process that attacks a collector: `python -m tests.outside.attacker NAME PORT SECONDS [CERTIFICATE CA]`.

It prints its counters as JSON. It is a process of its own, so that it does not slow down the test that measures.
"""

import json
import os
import resource
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from tests.outside.attacks import ATTACKS
from tests.outside.raw_client import Target

NAMES = {attack.name: attack for attack in ATTACKS}


def main() -> None:
    """Attack until the time is over."""
    name, port, seconds, *files = sys.argv[1:]
    attack = NAMES[name]
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8_192, most_files), most_files))
    os.nice(5)  # the collector competes with the attacker for two cores here, but not where it is used
    certificate, ca = map(Path, files) if files else (None, None)
    target = Target(int(port), time.monotonic() + float(seconds), certificate, ca)
    threads = [
        threading.Thread(target=_again_and_again, args=(attack.run, target), daemon=True) for _ in range(attack.at_once)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(float(seconds) + 2)
    print(json.dumps(asdict(target.tally)), flush=True)
    os._exit(0)  # without waiting for threads that are blocked


def _again_and_again(run: Callable[[Target], None], target: Target) -> None:
    """Begin the attack again when the server has ended it; not sooner than a real attacker reaches it."""
    while target.goes_on():
        with suppress(OSError):
            run(target)
        time.sleep(0.01)


if __name__ == "__main__":
    main()
