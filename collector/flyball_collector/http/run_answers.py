"""The answer about one run, as the page and `flyball runs NAME` show it. Null is unknown."""

import msgspec

from flyball_collector.http.diagnosis_answers import DiagnosisAnswer
from flyball_collector.http.run_summary import RunSummary
from flyball_collector.times import Moment


class RunProgressAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The progress of a run. The interval of the remaining time is a 90 % one."""

    step: int | None
    total_steps: int | None
    samples: float | None  # of all ranks since its first step
    total_samples: int | None
    ratio: float | None
    remaining_seconds: float | None
    remaining_low_seconds: float | None
    remaining_high_seconds: float | None


class RunPaceAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The speed of a run: of its median rank for steps, of all ranks together for tokens and samples."""

    step_seconds: float | None
    steps_per_second: float | None  # by the clock: pauses between steps count
    tokens_per_second: float | None
    samples_per_second: float | None
    data_wait_ratio: float | None  # share of the steps' time, a mean over ranks
    device_ratio: float | None  # share of the steps' time in which the device computed, if that was measured
    oom_retries: int | None  # steps or parts of them that were repeated after running out of memory, of all ranks
    paused_seconds: float | None  # between steps, by adjustments; a mean over ranks
    throttled_seconds: float | None


class RunSectionAnswer(msgspec.Struct, frozen=True):
    """A part of the step, as a mean over ranks and over the last minute."""

    name: str
    kind: str  # section: as the client named it; data_wait: waiting for input; rest: in none of them
    seconds: float  # per step
    ratio: float | None  # of the time of a step


class RunServiceAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The calls of all ranks to one service. Rates and durations are those of the last minute."""

    service: str
    calls: float  # since the first report
    errors: float
    recent_calls: float
    recent_errors: float
    calls_per_step: float | None
    calls_per_sample: float | None
    seconds_per_call: float | None


class RunLevelAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One level of a hierarchical learner, over all ranks."""

    level: str
    items: float  # since the first report
    items_per_second: float | None  # in the last minute
    overall_items_per_second: float | None


class GpuOfRank(msgspec.Struct, frozen=True):
    """A GPU that the process of a rank holds."""

    gpu: str
    gpu_index: int | None  # for people; `gpu` identifies it


class RunRankAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One rank. Without step reports only host, process and GPUs are known."""

    rank: int | None
    host: str
    pid: int | None
    gpus: list[GpuOfRank]
    attempt: int | None
    step: int | None
    step_seconds: float | None
    data_wait_ratio: float | None
    tokens_per_second: float | None
    samples_per_second: float | None
    loss: float | None  # null while `bad_losses` is not 0
    bad_losses: int  # consecutive reports with a loss that is NaN or infinite
    allocated_peak_bytes: int | None
    reserved_peak_bytes: int | None
    last_report: Moment | None
    severity: str | None  # the highest of the active conditions of this rank and its GPUs


class RunTrendAnswer(msgspec.Struct, frozen=True):
    """The last ten minutes, one point every five seconds in which a step ended."""

    times_unix: list[float]
    step_seconds: list[float]
    data_wait_ratio: list[float]
    tokens_per_second: list[float]
    samples_per_second: list[float]
    loss: list[float]


class RunDetails(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about one run."""

    run: RunSummary
    time: Moment
    reports_steps: bool  # false: its processes are known, but none of them has reported a step
    attempt: int | None  # of the newest start
    progress: RunProgressAnswer
    recent: RunPaceAnswer  # the last minute, at least the last report
    overall: RunPaceAnswer  # since the first report
    slowest_rank: int | None  # of several ranks
    slowest_step_seconds: float | None
    loss: float | None  # the newest one
    bad_losses: int  # consecutive reports of a rank with a loss that is NaN or infinite, the most of any rank
    sections: list[RunSectionAnswer]  # the longest first
    services: list[RunServiceAnswer]
    levels: list[RunLevelAnswer]
    allocated_peak_bytes: int | None  # the largest of any rank
    reserved_peak_bytes: int | None
    dropped: int  # names and values that were cut
    ranks: list[RunRankAnswer]  # by rank; if there are more than requested, the slowest ones and those with problems
    ranks_total: int
    diagnosis: DiagnosisAnswer
    trend: RunTrendAnswer
