"""The diagnosis as text: which series of which subject, limited, escaped, and removed with their host."""

import subprocess
from typing import Any

import numpy as np
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from flyball_collector.adjustments.shown.tally import AdjustmentFigures, EndedAdjustments, MeasuredGain
from flyball_collector.diagnosis.kinds import BY_NAME, Severity
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.exporter.diagnosis.active_lines import MAX_OF_KIND
from flyball_collector.exporter.diagnosis.diagnosis_writer import MAX_RUNS, DiagnosisWriter
from flyball_collector.exporter.diagnosis.metrics import METRICS
from flyball_collector.exporter.diagnosis.snapshot import (
    AdviceFigure,
    ConditionText,
    DiagnosisSnapshot,
    ExportedCondition,
    Price,
    RunFigure,
    Scores,
    WasteFigures,
    XidTime,
)
from flyball_collector.exporter.fleet_writer import page
from flyball_collector.exporter.negotiation import ExpositionFormat

BOTH = ("a", "b")


GPU_3 = 'gpu="GPU-1",index="3"'
FILLED_GPU, SURE = f'severity="critical",{GPU_3}', 'confidence="80 %"'


def active(kind: str, subject: Subject, severity: Severity = Severity.WARNING, **numbers: Any) -> ExportedCondition:
    return ExportedCondition(BY_NAME[kind], severity, subject, **numbers)


FULL = DiagnosisSnapshot(
    scores=Scores(
        BOTH,
        [("cpu", np.array([0.5, np.nan]))],
        [("disk", np.array([0.25, 0.75])), ("idle_gpu", np.array([np.inf, 0.5]))],
        [("disk", np.array([np.nan, np.nan])), ("pcie", np.array([0.7, np.nan]))],
    ),
    primary=[("a", "disk"), ("b", "disk")],
    active=[
        [
            active("bottleneck_pcie", Subject("a", "GPU-1"), Severity.INFO),
            active("bottleneck_pcie", Subject("a", "GPU-2"), Severity.INFO),
            active(
                "memory_exhaustion",
                Subject("a", "GPU-1"),
                Severity.CRITICAL,
                left=60.0,
                left_low=50.0,
                probability=0.8,
                forecast_at=1_900_000_002.5,
                gpu_index=3,
            ),
            active("host_lost", Subject("b"), Severity.CRITICAL),
            active("straggler", Subject("a", run="r", rank=3)),
            active("run_hang", Subject(run="r"), Severity.CRITICAL),
        ]
    ],
    held_risks=[active("memory_exhaustion", Subject("a", resource="host"), left=0.0)],
    texts=[ConditionText(BY_NAME["memory_exhaustion"], Severity.CRITICAL, Subject("a", "GPU-1"), 3, '"80"', "80 %")],
    advice=[AdviceFigure("a", "", "more_workers", 0.1, None), AdviceFigure("", "r", "batch_calls", 0.5, 2.0)],
    runs=[
        RunFigure("r", 16, 0.5, 0.75, 3600.0, None, 4000.0),
        RunFigure(
            "slurm-7",
            2,
            gpus=4,
            started=1_900_000_000.5,
            source="slurm",
            user="ada",
            last_checkpoint=1_900_000_060.0,
            flops_per_token=4.2e10,
            peak_flops=4e15,
        ),
        RunFigure("job-8", None, gpus=1, started=1_900_000_001.0, source="job_mapping"),
    ],
    waste=WasteFigures(("disk", "run_hang"), BOTH, np.array([[12.0, 0.0], [3.0, 0.0]]), [("r", "disk", 15.0)]),
    xids=[XidTime("a", "GPU-1", 79, 1_900_000_000.25)],
    price=Price(2.5, "EUR"),
    adjustments=AdjustmentFigures(
        (EndedAdjustments("r", "workers", "kept", 2),), (MeasuredGain("r", "workers", 0.25),), (("proposed", 0),)
    ),
)


def text(
    snapshot: DiagnosisSnapshot = FULL,
    *,
    known: tuple[str, ...] = BOTH,
    reporting: tuple[str, ...] = BOTH,
    format_: ExpositionFormat = ExpositionFormat.TEXT,
    writer: DiagnosisWriter | None = None,
) -> str:
    return page(
        (writer or DiagnosisWriter()).render(snapshot, format_, known=known, reporting=reporting), format_
    ).decode()


def lines(page_: str) -> set[str]:
    return {line for line in page_.splitlines() if not line.startswith("#")}


def test_everything_has_its_labels() -> None:
    """Every metric appears; unknown and infinite values have no series."""
    assert lines(text()) == {
        'flyball_base_score_ratio{instance="a",resource="cpu"} 0.5',
        'flyball_score_ratio{instance="a",bottleneck="disk"} 0.25',
        'flyball_score_ratio{instance="b",bottleneck="disk"} 0.75',
        'flyball_score_ratio{instance="b",bottleneck="idle_gpu"} 0.5',
        'flyball_score_confidence_ratio{instance="a",bottleneck="pcie"} 0.7',
        'flyball_primary_bottleneck{instance="a",bottleneck="disk"} 1.0',
        'flyball_primary_bottleneck{instance="b",bottleneck="disk"} 1.0',
        'flyball_conditions{instance="a",severity="info"} 2.0',
        'flyball_conditions{instance="a",severity="warning"} 1.0',
        'flyball_conditions{instance="a",severity="critical"} 1.0',
        'flyball_conditions{instance="b",severity="info"} 0.0',
        'flyball_conditions{instance="b",severity="warning"} 0.0',
        'flyball_conditions{instance="b",severity="critical"} 1.0',
        'flyball_condition_active{instance="a",kind="bottleneck_pcie",severity="info",gpu="GPU-1"} 1.0',
        'flyball_condition_active{instance="a",kind="bottleneck_pcie",severity="info",gpu="GPU-2"} 1.0',
        'flyball_condition_active{instance="a",kind="memory_exhaustion",severity="critical",gpu="GPU-1",index="3"} 1.0',
        'flyball_risk_left_seconds{instance="a",risk="memory_exhaustion",resource="host"} 0.0',
        f'flyball_condition_info{{instance="a",kind="memory_exhaustion",{FILLED_GPU},because="\\"80\\"",{SURE}}} 1.0',
        f'flyball_risk_forecast_timestamp_seconds{{instance="a",risk="memory_exhaustion",{GPU_3}}} 1900000002.5',
        'flyball_condition_active{instance="a",kind="straggler",severity="warning",run="r",rank="3"} 1.0',
        'flyball_condition_active{instance="b",kind="host_lost",severity="critical"} 1.0',
        'flyball_condition_active{kind="run_hang",severity="critical",run="r"} 1.0',
        'flyball_risk_left_seconds{instance="a",risk="memory_exhaustion",gpu="GPU-1",index="3"} 60.0',
        'flyball_risk_left_low_seconds{instance="a",risk="memory_exhaustion",gpu="GPU-1",index="3"} 50.0',
        'flyball_risk_probability_ratio{instance="a",risk="memory_exhaustion",gpu="GPU-1",index="3"} 0.8',
        'flyball_advice_active{instance="a",rule="more_workers"} 1.0',
        'flyball_advice_active{rule="batch_calls",run="r"} 1.0',
        'flyball_advice_gain_low_ratio{instance="a",rule="more_workers"} 0.1',
        'flyball_advice_gain_low_ratio{rule="batch_calls",run="r"} 0.5',
        'flyball_advice_gain_high_ratio{rule="batch_calls",run="r"} 2.0',
        'flyball_run_info{run="slurm-7",source="slurm",user="ada"} 1.0',
        'flyball_run_info{run="job-8",source="job_mapping"} 1.0',
        'flyball_run_last_checkpoint_timestamp_seconds{run="slurm-7"} 1900000060.0',
        'flyball_run_flops_per_token{run="slurm-7"} 42000000000.0',
        'flyball_run_peak_flops{run="slurm-7"} 4000000000000000.0',
        'flyball_run_start_timestamp_seconds{run="slurm-7"} 1900000000.5',
        'flyball_run_start_timestamp_seconds{run="job-8"} 1900000001.0',
        'flyball_run_gpus{run="slurm-7"} 4.0',
        'flyball_run_gpus{run="job-8"} 1.0',
        'flyball_run_ranks{run="slurm-7"} 2.0',
        'flyball_wasted_gpu_seconds_total{instance="a",cause="disk"} 12.0',
        'flyball_wasted_gpu_seconds_total{instance="b",cause="disk"} 3.0',
        'flyball_run_wasted_gpu_seconds_total{run="r",cause="disk"} 15.0',
        'flyball_gpu_xid_last_timestamp_seconds{instance="a",gpu="GPU-1",code="79"} 1900000000.25',
        'flyball_run_ranks{run="r"} 16.0',
        'flyball_run_step_median_seconds{run="r"} 0.5',
        'flyball_run_slowest_step_seconds{run="r"} 0.75',
        'flyball_run_remaining_seconds{run="r"} 3600.0',
        'flyball_run_remaining_high_seconds{run="r"} 4000.0',
        'flyball_adjustments_total{run="r",lever="workers",outcome="kept"} 2.0',
        'flyball_adjustment_gain_ratio{run="r",lever="workers"} 0.25',
        'flyball_adjustments_in_progress{state="proposed"} 0.0',
        'flyball_gpu_hour_price{currency="EUR"} 2.5',
    }


def test_both_formats_parse_and_pass_promtool() -> None:
    """Every family has one header, and names and types follow Prometheus's rules."""
    families = [family.name for family in parse_text(text())]
    assert len(families) == len(set(families))
    openmetrics = text(format_=ExpositionFormat.OPENMETRICS)
    assert {f.name for f in parse_openmetrics(openmetrics)} == set(families)  # type: ignore[no-untyped-call]
    checked = subprocess.run(["promtool", "check", "metrics"], input=text().encode(), capture_output=True, check=False)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, b"")


def test_a_host_that_does_not_report_keeps_only_some_conditions() -> None:
    """Its scores, risks and advice disappear with its readings; that it is lost remains, and is counted."""
    left = {line for line in lines(text(reporting=("a",))) if 'instance="b"' in line}
    assert left == {
        'flyball_conditions{instance="b",severity="info"} 0.0',
        'flyball_conditions{instance="b",severity="warning"} 0.0',
        'flyball_conditions{instance="b",severity="critical"} 1.0',
        'flyball_condition_active{instance="b",kind="host_lost",severity="critical"} 1.0',
    }


def test_a_removed_host_has_no_series() -> None:
    """Also with the same writer; when it returns, it has the same series as before."""
    writer = DiagnosisWriter()
    before = lines(text(writer=writer))
    assert not any('instance="b"' in line for line in lines(text(known=("a",), reporting=("a",), writer=writer)))
    assert lines(text(writer=writer)) == before


def test_a_hosts_page_has_no_instance_and_no_runs() -> None:
    """The scrape adds the instance; runs are on other pages."""
    pieces = DiagnosisWriter(instance=False).render(
        FULL, ExpositionFormat.TEXT, known=("a",), reporting=("a",), runs=False
    )
    found = lines(page(pieces, ExpositionFormat.TEXT).decode())
    assert "instance" not in " ".join(found)
    assert 'flyball_score_ratio{bottleneck="disk"} 0.25' in found
    assert 'flyball_condition_active{kind="straggler",severity="warning",run="r",rank="3"} 1.0' in found
    assert not any(
        "run_hang" in line or "flyball_run_" in line or "price" in line or "adjustment" in line for line in found
    )


def test_labels_are_escaped_and_shortened() -> None:
    """The name of a mount cannot break a line; two that are equal after shortening give one series."""
    full = [
        active("disk_full", Subject("a", resource='/x"\n\\'), left=1.0),
        active("disk_full", Subject("a", resource="/" + "y" * 1000 + "1"), left=2.0),
        active("disk_full", Subject("a", resource="/" + "y" * 1000 + "2"), left=3.0),
    ]
    found = text(DiagnosisSnapshot(active=[full]), known=("a",), reporting=("a",))
    (left,) = [family for family in parse_text(found) if family.name == "flyball_risk_left_seconds"]
    assert [(s.labels["resource"], s.value) for s in left.samples] == [('/x"\n\\', 1.0), ("/" + "y" * 199, 2.0)]


def test_the_series_of_a_host_are_limited() -> None:
    """A thousand mounts of one host do not affect the conditions of others; runs are limited as well."""
    many = [active("disk_full", Subject("a", resource=f"/{n}"), left=1.0) for n in range(1000)]
    other = active("disk_full", Subject("b", resource="/data"), left=1.0)
    runs = [RunFigure(f"r{n:05}", 1) for n in range(5000)]
    lost = WasteFigures((), (), np.zeros((0, 0)), [(run.run, "disk", 1.0) for run in runs])
    found = lines(text(DiagnosisSnapshot(active=[many, [other]], runs=runs, waste=lost)))
    shown = [line for line in found if line.startswith("flyball_condition_active")]
    assert len(shown) == MAX_OF_KIND + 1
    assert any('resource="/data"' in line for line in shown)
    assert 'flyball_conditions{instance="a",severity="warning"} 1000.0' in found
    assert sum(line.startswith("flyball_run_ranks") for line in found) == MAX_RUNS
    assert sum(line.startswith("flyball_run_wasted") for line in found) == MAX_RUNS


def test_a_second_rendering_is_the_same() -> None:
    """Cached lines do not become outdated: values are those of the snapshot."""
    writer = DiagnosisWriter()
    first = text(writer=writer)
    assert text(writer=writer) == first
    assert writer.series == len(lines(first))
    other = FULL._replace(scores=Scores(("b", "c"), [("cpu", np.array([0.1, 0.2]))], []))
    found = lines(text(other, known=("b", "c"), reporting=("b", "c"), writer=writer))
    assert {line for line in found if "base_score" in line} == {
        'flyball_base_score_ratio{instance="b",resource="cpu"} 0.1',
        'flyball_base_score_ratio{instance="c",resource="cpu"} 0.2',
    }


def test_every_metric_has_a_help_text() -> None:
    """Each name is used once, with a help text that ends in a full stop."""
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    assert all(metric.help.endswith(".") for metric in METRICS)
