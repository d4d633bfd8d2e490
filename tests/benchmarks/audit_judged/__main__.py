"""How often the audit is right on code of others: `python -m tests.benchmarks.audit_judged FOLDER`.

The lists beside this file say which lines of which public files are slow, and what was thought of each warning. The
files themselves are not here: whoever has them lays them out as FOLDER/OWNER/NAME/REVISION/PATH (FOLDER/pypi/NAME/
VERSION/PATH for packages). What is missing is named and left out of the figures.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from flyball_audit.run import audit
from tests.benchmarks.audit_judged.cases import LISTS, BadList, Case, Part, read_list
from tests.benchmarks.audit_judged.score import Score, Spot, score, spots, together


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures of each list and part, then what was missed and what was wrong; 2 for wrong use."""
    options = _parser().parse_args(arguments)
    try:
        paths = [path for path in sorted(LISTS.glob("*.yaml")) if options.list in {None, path.stem}]
        lists = {path.stem: read_list(path) for path in paths}
    except BadList as error:
        print(error, file=sys.stderr)
        return 2
    if not options.folder.is_dir() or not lists:
        print(f"no folder {options.folder}" if lists else f"no list {options.list}", file=sys.stderr)
        return 2
    for name, cases in lists.items():
        for part in [options.part] if options.part else list(Part):
            print("\n".join(_report(f"{name}, {part}", [each for each in cases if each.part is part], options.folder)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.audit_judged", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the files lie")
    parser.add_argument("--list", help="one list alone, by its name")
    parser.add_argument("--part", type=Part, choices=list(Part), help="one part alone")
    return parser


def _report(title: str, cases: Sequence[Case], folder: Path) -> Iterator[str]:
    missing = [str(path) for case in cases for path in _missing(case, folder)]
    there = [case for case in cases if not _missing(case, folder)]
    whole = together(score_case(case, folder) for case in there)
    yield f"{title}: {len(there)} cases, {sum(len(case.files) for case in there)} files"
    yield f"  recall                  {whole.recall.words}"
    yield f"  recall, told by threads {whole.recall_of_confirmed.words}"
    yield f"  precision of warnings   {whole.precision.words}"
    yield f"  gone after the fix      {whole.mended.words}"
    named = {"missed": whole.missed, "wrong": whole.wrong, "not judged": whole.unjudged, "stayed": whole.stayed}
    for what, names in {**named, "no file": missing}.items():
        yield from (f"  {what}: {name}" for name in names)


def _missing(case: Case, folder: Path) -> list[Path]:
    return [path for path in _files(case, folder) if not path.exists()]


def _files(case: Case, folder: Path, revision: str = "") -> list[Path]:
    return [folder / case.folder(revision) / name for name in case.files]


def score_case(case: Case, folder: Path) -> Score:
    """Audit a case's files together, and once more as they were when faults had been mended."""
    fixed = {fault.fixed for fault in case.faults if fault.fixed and (folder / case.folder(fault.fixed)).is_dir()}
    return score(case, _told(case, folder), {revision: _told(case, folder, revision) for revision in fixed})


def _told(case: Case, folder: Path, revision: str = "") -> tuple[Spot, ...]:
    paths: Iterable[Path] = (path for path in _files(case, folder, revision) if path.exists())
    return spots(audit(paths).findings, (folder / case.folder(revision)).as_posix())


if __name__ == "__main__":
    sys.exit(main())
