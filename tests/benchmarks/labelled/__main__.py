"""Labelled runs: real bottlenecks around a real training loop, recorded, labelled by harm, and diagnosed.

Without a command: records what is still missing of a whole run, scores it, and prints the figures as JSON. A run that
was interrupted goes on where it ended, with the seed that it began with. Rules are tuned on older runs, which
`tar -xJf tests/benchmarks/labelled/tuning-SEED.tar.xz -C FOLDER` unpacks for `score --out FOLDER`; `pack` makes them.
"""

import argparse
import secrets
import signal
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import msgspec

from flyball_collector.diagnosis import scores
from tests.benchmarks.figure import report as print_figures
from tests.benchmarks.labelled.as_reported import AsReported
from tests.benchmarks.labelled.campaign import read_recorded, record, record_steady
from tests.benchmarks.labelled.episode import FULL_SECONDS, Recorded
from tests.benchmarks.labelled.fit import fit_to
from tests.benchmarks.labelled.label import HARM, SAME, Use
from tests.benchmarks.labelled.pack import pack
from tests.benchmarks.labelled.picture import calibration_svg
from tests.benchmarks.labelled.plan import Reports
from tests.benchmarks.labelled.record import anonymous
from tests.benchmarks.labelled.report import Steady, figures, page
from tests.benchmarks.labelled.score import Pair, calibration, statements
from tests.benchmarks.labelled.verdict import NO_BLAME_BELOW, diagnose, primaries
from tests.benchmarks.run import machine

OUT = Path("build/labelled")
CALIBRATION = Path(scores.__file__).with_name("calibration.json")
SCORED = 300
HERE = Path(__file__).parent
KEPT = Path(__file__).with_name("recorded")
STEADY_MINUTES = 10.0
STEADY_LOADS = ("latency", "cold-reads", "spinners")


def main() -> None:
    """Do what was asked for."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # swap, control groups and processes are given back
    options = _parser().parse_args()
    options.out = options.out or (OUT if options.reports == "client" else Path(f"{OUT}-{options.reports}"))
    until = time.monotonic() + 60 * options.minutes if options.minutes else float("inf")
    if options.command in {"all", "record"}:
        seed = _seed(options.out, options.seed)
        print(f"seed {seed}", file=sys.stderr, flush=True)
        record(
            options.out, seed=seed, scored=options.scored, tuning=options.tuning, until=until,
            full_seconds=options.full_seconds, only=options.only, reports=options.reports,
        )  # fmt: skip
    if options.command in {"all", "steady"}:
        loads = options.only or STEADY_LOADS
        record_steady(
            options.out, loads=loads, seconds=60 * options.steady_minutes, until=until, reports=options.reports
        )
    if options.command in {"all", "score"}:
        _score(options.out, options.docs, options.reported_as)
    if options.command == "fit":
        fit_to([pair for out in (options.out, *options.also) for pair in _pairs(out)], options.to)
    if options.command == "pack":
        pack(options.out, read_recorded(options.out), HERE / f"tuning-{_seed(options.out, None)}.tar.xz")
    if options.command == "keep":
        for recorded in read_recorded(options.out):
            if recorded.name in options.only:
                (KEPT / f"{recorded.name}.spool.gz").write_bytes(anonymous(options.out / f"{recorded.name}.spool"))
                (KEPT / f"{recorded.name}.json").write_bytes(msgspec.json.format(msgspec.json.encode(recorded)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m tests.benchmarks.labelled", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "command", nargs="?", default="all", choices=("all", "record", "steady", "score", "fit", "keep", "pack")
    )
    parser.add_argument("--out", type=Path, help=f"where recordings lie (default: {OUT}, or {OUT}-REPORTS)")
    parser.add_argument(
        "--reports",
        choices=get_args(Reports),
        default="client",
        help="how the training reports: with the client in its code, by `flyball run` alone, or not (default: client)",
    )
    parser.add_argument("--scored", type=int, default=SCORED, help="episodes that can be scored (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="default: the one of the run that lies there, else a new one")
    parser.add_argument("--minutes", type=float, help="begin no episode after so many")
    parser.add_argument("--full-seconds", type=float, default=FULL_SECONDS, help="how long causes stay on")
    parser.add_argument("--steady-minutes", type=float, default=STEADY_MINUTES, help="of each steady load")
    parser.add_argument("--tuning", action="store_true", help="only generators that may be tuned on")
    parser.add_argument(
        "--only", action="append", default=[], metavar="GENERATOR", help="only these; keep: names of episodes"
    )
    parser.add_argument(
        "--as",
        dest="reported_as",
        choices=get_args(AsReported),
        default="recorded",
        help="score: rewrite the reports of the recordings as if they had been made in another way",
    )
    parser.add_argument("--docs", type=Path, help="write the page and the picture here (default: --out)")
    parser.add_argument("--also", type=Path, action="append", default=[], help="fit: further recordings")
    parser.add_argument("--to", type=Path, default=CALIBRATION, help="fit: the file to write")
    return parser


def _seed(out: Path, asked: int | None) -> int:
    """The seed of the run in a folder; a folder has one."""
    path = out / "seed"
    if path.exists():
        known = int(path.read_text())
        if asked not in {None, known}:
            raise SystemExit(f"{path} was made with seed {known}; use another --out for seed {asked}")
        return known
    out.mkdir(parents=True, exist_ok=True)
    seed = secrets.randbits(32) if asked is None else asked
    path.write_text(f"{seed}\n")
    return seed


def _pairs(out: Path, reports: AsReported = "recorded") -> list[Pair]:
    """Diagnose every episode that can be scored."""
    scored = [recorded for recorded in read_recorded(out) if recorded.label.use is not Use.DROPPED]
    return [(recorded, diagnose(recorded, out / f"{recorded.name}.spool", reports=reports)) for recorded in scored]


def _score(out: Path, docs: Path | None, reports: AsReported) -> None:
    recorded, pairs = read_recorded(out), _pairs(out, reports)
    dropped = len(recorded) - len(pairs)
    steady = [_steady(path, out) for path in sorted(out.glob("steady-*.json"))]
    words = {
        "full": max((one.ended - one.began for one in recorded), default=FULL_SECONDS),
        "harm": HARM - 1,
        "same": SAME,
        "base": NO_BLAME_BELOW,
        "seed": (out / "seed").read_text().strip() if (out / "seed").exists() else "unknown",
        "machine": machine(),
        "when": datetime.fromtimestamp(max((one.ended for one in recorded), default=0.0), UTC).strftime("%Y-%m-%d"),
    }
    folder = docs or out
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "labelled-runs.md").write_text(page(pairs, steady, dropped, words))
    svg = calibration_svg(calibration(statements(pairs)), "Confidence and truth on the labelled runs")
    (folder / "labelled-runs-calibration.svg").write_text(svg)
    print_figures(figures(pairs, steady, dropped))


def _steady(path: Path, out: Path) -> Steady:
    recorded = msgspec.json.decode(path.read_bytes(), type=Recorded)
    minutes = (recorded.ended - recorded.began) / 60
    return Steady("; ".join(recorded.strengths), minutes, primaries(recorded, out / f"{recorded.name}.spool"))


if __name__ == "__main__":
    main()
