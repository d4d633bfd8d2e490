"""Labelled runs: real bottlenecks around a real training loop, recorded, labelled by harm, and diagnosed.

Without a command: records what is still missing of a whole run, scores it, and prints the figures as JSON. A run that
was interrupted goes on where it ended, with the seed that it began with. Rules are tuned on older runs, which
`tar -xJf tests/benchmarks/labelled/tuning-SEED.tar.xz -C FOLDER` unpacks for `score --out FOLDER` and `fit`; `pack`
makes them. `pack --whole` keeps a run that was scored as `scored-SEED.tar.xz`; nothing is fitted to it.
"""

import argparse
import secrets
import signal
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import msgspec

from flyball_collector.diagnosis import scores
from tests.benchmarks.figure import report as print_figures
from tests.benchmarks.labelled.as_reported import AsReported
from tests.benchmarks.labelled.campaign import read_recorded, record, record_steady
from tests.benchmarks.labelled.column import POSSIBLE, WAYS, Column
from tests.benchmarks.labelled.episode import FULL_SECONDS, Recorded
from tests.benchmarks.labelled.fit import fit_to, may_be_tuned_on
from tests.benchmarks.labelled.label import HARM, SAME, Use
from tests.benchmarks.labelled.pack import pack
from tests.benchmarks.labelled.picture import calibration_svg
from tests.benchmarks.labelled.plan import Reports
from tests.benchmarks.labelled.record import anonymous, without_reports
from tests.benchmarks.labelled.report import figures, page
from tests.benchmarks.labelled.score import Pair, calibration, statements
from tests.benchmarks.labelled.tables import Steady
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
            options.out, seed=seed, scored=options.scored, tuning=options.tuning, focus=options.focus, until=until,
            full_seconds=options.full_seconds, only=options.only, reports=options.reports,
        )  # fmt: skip
    if options.command in {"all", "steady"}:
        loads = options.only or STEADY_LOADS
        record_steady(
            options.out, loads=loads, seconds=60 * options.steady_minutes, until=until, reports=options.reports
        )
    if options.command in {"all", "score"}:
        _score(options.out, options.docs, options.also)
    if options.command == "fit":
        _fit((options.out, *options.also), options.reported_as or ["recorded"], options.to)
    if options.command == "pack":
        _pack(options.out, whole=options.whole)
    if options.command == "keep":
        _keep(options.out, options.only)


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
    parser.add_argument("--tuning", action="store_true", help="record: only generators that may be tuned on")
    parser.add_argument(
        "--focus", action="store_true", help="record: mostly generators never used before, networks and services"
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="GENERATOR", help="only these; keep: names of episodes"
    )
    parser.add_argument(
        "--as",
        dest="reported_as",
        action="append",
        choices=get_args(AsReported),
        help="fit: the reports of the recordings are rewritten as if made in another way; several times: all of them",
    )
    parser.add_argument(
        "--whole", action="store_true", help="pack: a run that was scored (default: what may be tuned on)"
    )
    parser.add_argument("--docs", type=Path, help="write the page and the picture here (default: --out)")
    parser.add_argument(
        "--also",
        type=Path,
        action="append",
        default=[],
        help="further recordings; score: shown as columns of their own",
    )
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


def _keep(out: Path, names: Sequence[str]) -> None:
    """Keep single episodes for the tests."""
    for recorded in read_recorded(out):
        if recorded.name in names:
            spool = out / f"{recorded.name}.spool"
            for path in (spool, without_reports(spool)):
                (KEPT / f"{path.name}.gz").write_bytes(anonymous(path))
            (KEPT / f"{recorded.name}.json").write_bytes(msgspec.json.format(msgspec.json.encode(recorded)))


def _pack(out: Path, *, whole: bool) -> None:
    """Keep the episodes that may be tuned on, or a whole scored run, from which its page can be computed again."""
    episodes, seed = read_recorded(out), _seed(out, None)
    if whole:
        pack(out, episodes, HERE / f"scored-{seed}.tar.xz")
    else:
        pack(out, may_be_tuned_on(episodes), HERE / f"tuning-{seed}.tar.xz")


def _diagnosed(episodes: Sequence[Recorded], out: Path, reports: AsReported = "recorded") -> list[Pair]:
    """Diagnose every episode that can be scored."""
    scored = [recorded for recorded in episodes if recorded.label.use is not Use.DROPPED]
    return [(recorded, diagnose(recorded, out / f"{recorded.name}.spool", reports=reports)) for recorded in scored]


def _fit(folders: Sequence[Path], ways: Sequence[AsReported], to: Path) -> None:
    """Fit to the episodes that may be tuned on, with each of these ways of reporting."""
    pairs = []
    for out in folders:
        episodes = read_recorded(out)
        tuned_on = may_be_tuned_on(episodes)
        print(f"{out}: {len(tuned_on)} episodes; {len(episodes) - len(tuned_on)} are only for scoring", file=sys.stderr)
        pairs += [pair for way in ways for pair in _diagnosed(tuned_on, out, way)]
    fit_to(pairs, to, [str(_seed(out, None)) for out in folders])


def _columns(out: Path, episodes: Sequence[Recorded], *, live: bool = False) -> list[Column]:
    """Score the episodes of a folder with each way of reporting that they allow; `live`: only as recorded."""
    recorded_as = episodes[0].reports if episodes else "client"
    ways = (recorded_as,) if live else POSSIBLE[recorded_as]
    return [Column(way, _diagnosed(episodes, out, way.reports), live) for way in WAYS if way.reports in ways]


def _score(out: Path, docs: Path | None, also: Sequence[Path]) -> None:
    recorded = read_recorded(out)
    columns = _columns(out, recorded)
    live = [column for folder in also for column in _columns(folder, read_recorded(folder), live=True)]
    columns = [*columns[:-1], *live, columns[-1]]
    dropped = len(recorded) - len(columns[0].pairs)
    steady = [_steady(path, out) for path in sorted(out.glob("steady-*.json"))]
    words = {
        "full": max((one.ended - one.began for one in recorded), default=FULL_SECONDS),
        "harm": HARM - 1,
        "same": SAME,
        "base": NO_BLAME_BELOW,
        "seed": (out / "seed").read_text().strip() if (out / "seed").exists() else "not recorded",
        "machine": machine(),
        "when": datetime.fromtimestamp(max((one.ended for one in recorded), default=0.0), UTC).strftime("%Y-%m-%d"),
    }
    folder = docs or out
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "labelled-runs.md").write_text(page(columns, steady, dropped, words))
    title = f"Confidence and truth on the labelled runs ({columns[0].title})"
    (folder / "labelled-runs-calibration.svg").write_text(
        calibration_svg(calibration(statements(columns[0].pairs)), title)
    )
    print_figures(figures(columns, steady, dropped))


def _steady(path: Path, out: Path) -> Steady:
    recorded = msgspec.json.decode(path.read_bytes(), type=Recorded)
    minutes = (recorded.ended - recorded.began) / 60
    return Steady("; ".join(recorded.strengths), minutes, primaries(recorded, out / f"{recorded.name}.spool"))


if __name__ == "__main__":
    main()
