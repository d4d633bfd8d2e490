"""Run every test in groups, several at a time, the longest first, each group in its own process.

`make test` calls `python -m tests.everything`. It prints one line for each group, and the whole output of a group that
failed. All outputs are kept in build/tests/.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

LONGEST_FIRST = (
    "faults",
    "end_to_end",
    "collector/diagnosis",
    "collector",
    "faults/records",
    "client",
    "outside",
    "faults/adjustments",
    "outside/frameworks",
    "audit",
    "planner",
    "deploy",
    "agent",
    "grafana",
)
"""Folders below tests/ that run first. A folder inside another one is a group of its own."""

LEAST_AT_ONCE, MOST_AT_ONCE = 3, 4
"""Groups that run at the same time. Many tests start programs and wait for them with deadlines, so three keep two cores
busy. Four take as long, and delay each other."""

GROUP_SECONDS = 1800.0
"""A group that takes so long waits for something that will not happen."""

_COUNT = re.compile(r"(\d+) (passed|failed|skipped|errors?|xfailed|xpassed|warnings?)")


@dataclass(frozen=True, slots=True)
class Group:
    """A folder of tests that one process runs."""

    name: str  # the path to pass to pytest
    folder: Path
    without: tuple[Path, ...]  # subfolders that are groups of their own


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a group: its status, time and output."""

    group: Group
    ok: bool
    seconds: float
    output: str

    @property
    def counts(self) -> Counter[str]:
        """Return how many tests passed, failed and so on, from pytest's last line."""
        last = self.output.rstrip().rpartition("\n")[2]
        return Counter({what: int(number) for number, what in _COUNT.findall(last)})


def groups(tests: Path = ROOT / "tests") -> list[Group]:
    """Return groups that contain every test file exactly once."""
    parts = {tests / file.relative_to(tests).parts[0] for file in tests.glob("**/test_*.py")}
    rest = [tests if part.is_file() else part for part in sorted(parts)]
    first = [tests / name for name in LONGEST_FIRST if (tests / name).is_dir()]
    folders = list(dict.fromkeys([*first, *rest]))
    return [_group(folder, folders, tests.parent) for folder in folders]


def _group(folder: Path, folders: Sequence[Path], root: Path) -> Group:
    name = folder.relative_to(root).as_posix()
    return Group(name, folder, tuple(each for each in folders if folder in each.parents))


def run(group: Group, limit_seconds: float = GROUP_SECONDS) -> Outcome:
    """Run one group to its end. One that does not end is stopped, so that the others are still reported."""
    command = [sys.executable, "-m", "pytest", str(group.folder), *(f"--ignore={each}" for each in group.without)]
    print(f"{group.name} …", flush=True)
    started = time.monotonic()
    with tempfile.TemporaryFile() as output:  # a pipe would stay open as long as a process of a test does
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=ROOT, env=_environment())
        try:
            status = process.wait(limit_seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)  # pytest prints the stacks of its threads
            status = process.wait()
        output.seek(0)
        text = output.read().decode(errors="replace")
    return Outcome(group, status == 0, time.monotonic() - started, text)


def _environment() -> dict[str, str]:
    """Return our environment in which Python keeps bytecode: tests start hundreds of programs of the same modules."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def report(outcome: Outcome, folder: Path) -> None:
    """Print one line, and the whole output of a failed group; write the output to a file."""
    (folder / f"{outcome.group.name.replace('/', '-')}.txt").write_text(outcome.output)
    if not outcome.ok:
        print(outcome.output, flush=True)
    verdict = "" if outcome.ok else "FAILED: "
    print(f"{outcome.group.name}: {verdict}{_listed(outcome.counts)} in {outcome.seconds:.0f} s", flush=True)


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} {what}" for what, count in counts.items()) or "nothing"


def everything(chosen: Sequence[Group], folder: Path = ROOT / "build" / "tests") -> int:
    """Run all groups and print the totals; return 1 if a group failed."""
    folder.mkdir(parents=True, exist_ok=True)
    started, total, failed = time.monotonic(), Counter[str](), []
    with ThreadPoolExecutor(min(MOST_AT_ONCE, max(LEAST_AT_ONCE, os.cpu_count() or 1))) as pool:
        for future in as_completed([pool.submit(run, group) for group in chosen]):
            outcome = future.result()
            report(outcome, folder)
            total += outcome.counts
            failed += [] if outcome.ok else [outcome.group.name]
    print(f"all tests: {_listed(total)} in {time.monotonic() - started:.0f} s", flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}; their output is above and in {folder}", flush=True)
    return 1 if failed else 0


def reset_signals() -> None:
    """Handle signals as usual. `nohup` and shells that run something in the background ignore some of them."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


if __name__ == "__main__":
    reset_signals()
    sys.exit(everything(groups()))
