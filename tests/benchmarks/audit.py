"""The audit of scripts: files a second, what it finds of the corpus, and torchfix on the same files."""

import re
import resource
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from flyball_audit.finding import Severity
from flyball_audit.rules import RULES
from flyball_audit.run import audit
from flyball_audit.workers import workers_for
from tests.audit.expectations import Case, Spot, scripts, snippets, spots
from tests.benchmarks.figure import Figure, at_least, at_most, plain, report

FILES = 1000
PEER_FILES = 100
"""torchfix takes half a second a file: a tenth of them is enough to see it."""

A_FOLDER = 20
LIMIT_SECONDS = 5.0
RECALL, PRECISION = 0.90, 0.95
PEER = "torchfix==0.7.0"
_ITS_LINE = re.compile(r"^(?P<file>.+?):(?P<line>\d+):\d+: (?P<code>TOR\d+) ")
_SAME_FAULT = {"TOR401": "loader-without-workers"}
"""torchfix's rules on speed, and ours; its others are about deprecated and unsafe calls."""


def main() -> None:
    """Measure speed, then the corpus, then the peer."""
    with tempfile.TemporaryDirectory() as folder:
        training, library = Path(folder) / "training", Path(folder) / "library"
        _copy(_round(_modules(scripts())), training)
        _copy(sorted(Path(sysconfig.get_path("stdlib")).glob("**/*.py")), library)
        few = [training / f"part_{number}" for number in range(PEER_FILES // A_FOLDER)]
        report([*_speed(training, library), *_corpus(), *_peer(Path(folder) / "venv", few)])


def _modules(cases: Iterable[Case]) -> list[Path]:
    return [file for case in cases for file in case.files if file.suffix == ".py"]


def _round(files: list[Path]) -> Iterator[Path]:
    while True:
        yield from files


def _copy(files: Iterable[Path], folder: Path) -> None:
    """The first thousand files, some a folder, as they lie in repositories."""
    for number, file in zip(range(FILES), files, strict=False):
        inside = folder / f"part_{number // A_FOLDER}"
        inside.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, inside / f"file_{number}.py")


def _speed(training: Path, library: Path) -> Iterator[Figure]:
    for name, folder in (("trainers", training), ("modules of Python's library", library)):
        lines = sum(file.read_bytes().count(b"\n") for file in folder.glob("*/*.py"))
        before, started = _cpu_seconds(), time.monotonic()
        found = audit([folder])
        waited, seconds = time.monotonic() - started, _cpu_seconds() - before
        at_once = f"on {workers_for(FILES)} processors, whatever else they do"
        yield at_most(f"wait for {FILES:,} {name}", waited, LIMIT_SECONDS, "s", at_once)
        note = f"{lines:,} lines, {len(found.findings)} findings; all processes together: the wait on one core alone"
        yield at_most(f"CPU for {FILES:,} {name}", seconds, LIMIT_SECONDS, "s", note)
        yield plain(f"files a second of CPU, {name}", found.files / seconds, "files/s")


def _corpus() -> Iterator[Figure]:
    """Every rule on its own snippets, all rules on the scripts."""
    expected: set[Spot] = set()
    found: set[Spot] = set()
    for case in snippets():
        expected |= case.expected.keys()
        found |= spots(audit([case.path], rules=[rule for rule in RULES if rule.id == case.rule]).findings).keys()
    by_case = {case: spots(audit([case.path]).findings) for case in scripts()}
    warnings = {spot for each in by_case.values() for spot, level in each.items() if level is not Severity.NOTE}
    marked = {spot for case in by_case for spot in case.expected}
    everything = {spot for each in by_case.values() for spot in each}
    count = f"{len(RULES)} rules; of {len(expected):,} marks in {len(snippets())} snippets"
    yield at_least("recall on snippets", len(expected & found) / len(expected), RECALL, "of the marks", count)
    yield at_least("precision on snippets", len(expected & found) / len(found), PRECISION, "of the findings")
    in_scripts = f"of {len(marked)} marks in {len(by_case) // 2} trainers"
    yield at_least("recall on trainers", len(marked & everything) / len(marked), RECALL, "of the marks", in_scripts)
    yield at_least("precision on trainers", len(marked & warnings) / len(warnings), PRECISION, "of the warnings")


def _peer(folder: Path, trainers: Sequence[Path]) -> Iterator[Figure]:
    """Run torchfix with all its rules on the same files; its recall counts only faults that it looks for."""
    venv.create(folder, with_pip=True)
    pip = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PEER]
    if subprocess.run(pip, check=False, stdout=sys.stderr).returncode != 0:
        print(f"{PEER} cannot be had here: its figures are left out", file=sys.stderr)
        return
    cases = [*snippets(), *scripts()]
    marked = {(spot.file, spot.line, spot.rule) for case in cases for spot in case.expected}
    own = [case for case in cases if case.rule in _SAME_FAULT.values() or case in scripts()]
    its = set(_torchfix(folder, _modules(own)))  # other snippets are marked for their own rule alone
    hit = its & marked
    comparable = {each for each in marked if each[2] in _SAME_FAULT.values()}
    same = [code for code, rule in _SAME_FAULT.items() if rule]
    yield plain("torchfix, recall on all marks", len(hit) / len(marked), "of the marks", f"{PEER}, all rules")
    note = f"by {', '.join(same)}: {len(hit)} of {len(comparable)}"
    yield plain("torchfix, recall on marks it looks for", len(hit) / len(comparable), "of the marks", note)
    yield plain("torchfix, precision", len(hit) / max(1, len(its)), "of its findings on speed", f"{len(its)} findings")
    before = _child_seconds()
    list(_torchfix(folder, trainers))
    yield plain(
        f"torchfix, CPU for {PEER_FILES} trainers", _child_seconds() - before, "s", "one process, its start included"
    )


def _torchfix(folder: Path, paths: Iterable[Path]) -> Iterator[tuple[Path, int, str]]:
    command = [str(folder / "bin/torchfix"), "-j", "1", "--select", "ALL", *map(str, paths)]
    for line in subprocess.run(command, check=False, capture_output=True, text=True).stdout.splitlines():
        found = _ITS_LINE.match(line)
        if found and found["code"] in _SAME_FAULT:
            yield Path(found["file"]).resolve(), int(found["line"]), _SAME_FAULT[found["code"]]


def _cpu_seconds() -> float:
    """Return the CPU time of this process and of the children that it has waited for."""
    return time.process_time() + _child_seconds()


def _child_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
