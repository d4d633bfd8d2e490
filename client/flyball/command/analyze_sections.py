"""The review of a host as sections of a report, the decisions last."""

from collections.abc import Sequence

from flyball.command.analyze_facts import host_facts
from flyball.host.hardware_profile import HardwareProfile
from flyball.host_review.host_finding import FindingKind, HostFinding
from flyball.host_review.host_review import HostReview
from flyball.host_review.host_score import ScorePart
from flyball.host_review.peer_hosts import PEERS
from flyball.host_review.score_figures import ASSUMED, MEASURED, TYPICAL, ScoreFigure
from flyball_planner.configurations.configuration import Configuration
from flyball_reports.figures import count, duration, energy, percent, plural, rate, size
from flyball_reports.section import ReportTable, Section

SAME = 0.1  # scores that differ by less are equal
BAR = 10  # characters, one for each point of the score
SEVERITIES = {3: "critical", 2: "important", 1: "minor"}


def review_sections(review: HostReview, *, verbose: bool = False, bars: bool = True) -> tuple[Section, ...]:
    """Return all sections that have content. `bars` draws scores as text, for output without charts."""
    warnings = review.of_kind(FindingKind.WARNING)
    suggestions = review.of_kind(FindingKind.SUGGESTION)
    sections = (
        Section("", tables=(ReportTable(tuple(_headline(review))),)),
        Section("System", tables=(ReportTable(tuple(host_facts(review))),)),
        Section("Score", tables=(_score_table(review, bars=bars),)),
        _measured(review.profile),
        Section("Bottlenecks", tables=(_bottlenecks(review),)),
        _configurations(review),
        Section("Missed limits", points=_missed(review)),
        Section("Warnings", tables=_finding_tables(warnings), tone=_tone(warnings)),
        Section("Suggestions", tables=_finding_tables(suggestions)),
        _unknown(review, verbose=verbose),
        Section("Next steps", points=review.next_steps, tone="good"),
    )
    return tuple(each for each in sections if each.text or each.points or any(table.rows for table in each.tables))


def _headline(review: HostReview) -> list[tuple[str, str]]:
    score = review.score
    missing = " and ".join(each.name for each in score.parts if each.score is None)
    without = f"; without {missing}, which could not be scored" if missing else ""
    rows = [("Score", f"{score.score:.1f} of 10, {score.word}{without}" if score.score is not None else "unknown")]
    if score.score is not None:
        rows.append(("Compared", _compared(score.score)))
    tier = review.profile.tier
    rows.append(("Tier", f"{tier.value}: {review.profile.tier_reason}" if review.profile.tier_reason else tier.value))
    warnings = len(review.of_kind(FindingKind.WARNING))
    suggestions = len(review.of_kind(FindingKind.SUGGESTION))
    rows.append(("Findings", f"{plural(warnings, 'warning')}, {plural(suggestions, 'suggestion')}"))
    if review.recommended:
        rows.append(("Choose", f"the {review.recommended} configuration"))
    return rows


def _compared(score: float) -> str:
    nearest = min(PEERS, key=lambda each: abs(each.score - score))
    if abs(nearest.score - score) < SAME:
        return f"like {nearest.name} ({nearest.score:.1f})"
    below = [each for each in PEERS if each.score <= score]
    above = [each for each in PEERS if each.score > score]
    words = [f"above {below[-1].name} ({below[-1].score:.1f})"] if below else []
    words += [f"below {above[0].name} ({above[0].score:.1f})"] if above else []
    return "; ".join(words)


def _score_table(review: HostReview, *, bars: bool) -> ReportTable:
    rows = tuple(
        (
            each.name,
            "–" if each.score is None else f"{each.score:.1f}",
            *([bar(each.score)] if bars else []),
            percent(each.weight),
            _why(each),
        )
        for each in review.score.parts
    )
    heads = ("Part", "Score", *([""] if bars else []), "Weight", "Because")
    return ReportTable(rows, heads, (1, 3 if bars else 2))


def bar(score: float | None) -> str:
    """Return a score as a bar of text."""
    full = 0 if score is None else round(score)
    return "█" * full + "░" * (BAR - full)


def _why(part: ScorePart) -> str:
    if part.score is None:
        return f"not scored: {part.because}"
    figures = "; ".join(_figure(each) for each in part.figures)
    return f"{part.because}: {figures}" if part.because else figures


def _figure(figure: ScoreFigure) -> str:
    word = figure.source if figure.source == ASSUMED else figure.source.partition(" ")[0]
    source = f", {word}" if figure.source.startswith((MEASURED, TYPICAL, ASSUMED)) else ""
    return f"{figure.name} {amount(figure)} ({figure.score:.1f}{source})"


def amount(figure: ScoreFigure) -> str:
    """Format a figure in its unit."""
    if figure.unit == "B":
        return size(figure.value)
    if figure.unit == "cores":
        return f"{figure.value:,.0f}"
    return f"{figure.value:,.0f} per second" if figure.unit == "per second" else rate(figure.value, figure.unit)


def _measured(profile: HardwareProfile) -> Section:
    benchmarks = profile.benchmarks
    if benchmarks is None:
        return Section("Measured")
    disk, memory, network = benchmarks.disk, benchmarks.memory, benchmarks.network
    mongo, processor = benchmarks.mongo, benchmarks.processor
    rows = []
    if disk is not None:
        how = "cache bypassed" if disk.direct else disk.note or "cache flushed and dropped"
        reads = f", read {rate(disk.read_mb_per_second * 1e6, 'B/s')}" if disk.read_mb_per_second else ""
        small = f", {disk.random_reads_per_second:,.0f} random reads per second" if disk.random_reads_per_second else ""
        rows.append(("Disk", f"write {rate(disk.write_mb_per_second * 1e6, 'B/s')}{reads}{small} ({how})"))
    if memory is not None:
        copied, triad = rate(memory.copy_gb_per_second * 1e9, "B/s"), rate(memory.triad_gb_per_second * 1e9, "B/s")
        rows.append(("Memory", f"copy {copied}, triad {triad}, {plural(memory.threads, 'thread')}"))
    if processor is not None:
        rows.append(("Processor", f"matrix products in fp32: {rate(processor.matmul_gflops * 1e9, 'FLOP/s')}"))
    for gpu in benchmarks.gpus:
        rates = ", ".join(f"{name} {rate(tflops * 1e12, 'FLOP/s')}" for name, tflops in gpu.matmul_tflops.items())
        copies, usual = gpu.host_to_device_gb_per_second, gpu.pageable_to_device_gb_per_second
        copied = f", copies to it {rate(copies * 1e9, 'B/s')}" if copies else ""
        copied += f" ({rate(usual * 1e9, 'B/s')} without pinned memory)" if copies and usual else ""
        rows.append((f"GPU {gpu.index}", f"matrix products: {rates}{copied}"))
    if left_out := profile.unavailable.get("benchmarks.gpus.left_out"):
        rows.append(("Not measured", left_out))
    if mongo is not None:
        inserts, queries = mongo.inserts_per_second, mongo.queries_per_second
        rows.append(
            (
                "MongoDB",
                f"{inserts:,.0f} inserts, {queries:,.0f} queries per second, {mongo.insert_latency_ms:.2g} ms each",
            )
        )
    if network is not None:
        trips = [("localhost", network.localhost_ms), (network.service or "service", network.service_ms)]
        words = [f"{name} {duration(value / 1000)}" for name, value in trips if value is not None]
        words += (
            [f"download {rate(network.download_mb_per_second * 1e6, 'B/s')}"] if network.download_mb_per_second else []
        )
        rows.append(("Network", ", ".join(words)))
    return Section("Measured", tables=(ReportTable(tuple(rows)),))


def _bottlenecks(review: HostReview) -> ReportTable:
    rows = [(each.workload, each.forecast.primary or "unknown", each.forecast.reason) for each in review.bottlenecks]
    return ReportTable(tuple(rows), ("For", "Limited by", "Because"))


def _configurations(review: HostReview) -> Section:
    if not review.proposal.configurations:
        return Section("Configurations", (f"None: {review.proposal.because}.",) if review.proposal.because else ())
    found = review.proposal.configurations
    device = f"{found[0].devices} × {found[0].device}" if found[0].devices > 1 else found[0].device
    return Section("Configurations", (f"For {device}:",), (configurations_table(found),))


def configurations_table(found: Sequence[Configuration]) -> ReportTable:
    """Return the configurations beside each other."""
    rows = (
        ("Model", *(f"{count(each.model.parameters)} parameters" for each in found)),
        ("Tokens", *(count(each.training.tokens) for each in found)),
        ("Batch", *(_batch(each) for each in found)),
        ("Precision", *(each.training.precision for each in found)),
        (
            "Memory",
            *(f"{size(each.expected.memory_bytes.middle)} ({percent(each.expected.memory_share)})" for each in found),
        ),
        ("Time", *(each.expected.time_human for each in found)),
        ("Power", *(_power(each) for each in found)),
        ("Energy", *(_energy(each) for each in found)),
        ("Missed", *(", ".join(missed.bound for missed in each.missed) or "nothing" for each in found)),
    )
    return ReportTable(rows, ("", *(each.name for each in found)))


def _missed(review: HostReview) -> tuple[str, ...]:
    return tuple(
        f"{each.name}: {missed.bound} {missed.reached} instead of {missed.wanted}; {missed.because}"
        for each in review.proposal.configurations
        for missed in each.missed
    )


def _batch(each: Configuration) -> str:
    training = each.training
    return f"{training.global_batch} × {training.sequence:,} tokens"


def _power(each: Configuration) -> str:
    what = each.expected
    if what.power_watts is None:
        return "unknown"
    share = f" ({percent(what.power_share)})" if what.power_share is not None else ""
    return f"{what.power_watts * each.devices:,.0f} W{share}"


def _energy(each: Configuration) -> str:
    what = each.expected
    if what.power_watts is None:
        return "unknown"
    return energy(what.power_watts * each.devices * what.seconds.middle / 3.6e6)


def _tone(findings: Sequence[HostFinding]) -> str:
    return "bad" if any(each.rank > 2 for each in findings) else "warning"


def _finding_tables(findings: Sequence[HostFinding]) -> tuple[ReportTable, ...]:
    rows = tuple((SEVERITIES[each.rank], finding_text(each)) for each in findings)
    return (ReportTable(rows),) if rows else ()


def finding_text(each: HostFinding) -> str:
    """Return the fact, the evidence, what to do, and what it brings."""
    effect = f" Effect: {each.effect}." if each.effect else ""
    command = f" `{each.command}`" if each.command else ""
    return f"{each.fact}: {each.because}. → {each.action}.{effect}{command}"


def _unknown(review: HostReview, *, verbose: bool) -> Section:
    reasons = review.profile.unavailable if verbose else {}
    return Section("Unknown", tables=(ReportTable(tuple(reasons.items())),))
