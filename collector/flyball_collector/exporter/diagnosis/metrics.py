"""Metrics of the diagnosis, by subject: a host, its conditions, a run, or the whole fleet."""

from flyball_proto.metric import Kind, Metric, counter, gauge

BASE_SCORE = gauge(
    "base_score_ratio",
    "ratio",
    "Utilisation divided by a fixed limit, from 0 (idle) to 1 (at the limit). It raises no alert.",
    ("resource",),
)
SCORE = gauge(
    "score_ratio",
    "ratio",
    "How much the bottleneck limits the work, from 0 (not at all) to 1 (entirely). For GPUs: the host's worst GPU.",
    ("bottleneck",),
)
CONFIDENCE = gauge(
    "score_confidence_ratio",
    "ratio",
    "Probability that a raised bottleneck is real.",
    ("bottleneck",),
)
PRIMARY = gauge(
    "primary_bottleneck",
    "info",
    "Always 1. Its label is the active bottleneck that limits the host most.",
    ("bottleneck",),
)
COUNT = gauge("conditions", "conditions", "Number of active conditions of the host and its parts.", ("severity",))
WASTED = counter(
    "wasted_gpu_seconds_total",
    "seconds",
    "GPU time lost, by the condition that caused it: GPUs that runs held but that were idle or slowed down.",
    ("cause",),
)
XID_TIME = gauge(
    "gpu_xid_last_timestamp_seconds",
    "seconds",
    "Time at which the driver last reported this XID, in Unix time.",
    ("gpu", "code"),
)
HOST_METRICS = (BASE_SCORE, SCORE, CONFIDENCE, PRIMARY, COUNT, WASTED, XID_TIME)

_SUBJECT = ("gpu", "index", "resource", "run", "rank")
ACTIVE = gauge(
    "condition_active", "info", "Always 1. Its labels describe an active condition.", ("kind", "severity", *_SUBJECT)
)
INFO = gauge(
    "condition_info",
    "info",
    "Always 1. An active warning or critical condition with the evidence in words, at most five minutes old, and how "
    "sure it is.",
    ("kind", "severity", *_SUBJECT, "because", "confidence"),
)
RISK_LEFT = gauge(
    "risk_left_seconds",
    "seconds",
    "Most probable time until the predicted failure; 0 if it has happened. It is kept and counted down to 1 s for a "
    "minute after the risk was raised, even if the risk has ended.",
    ("risk", *_SUBJECT),
)
RISK_LEFT_LOW = gauge(
    "risk_left_low_seconds", "seconds", "Shortest time until the predicted failure.", ("risk", *_SUBJECT)
)
RISK_LEFT_HIGH = gauge(
    "risk_left_high_seconds", "seconds", "Longest time until the predicted failure.", ("risk", *_SUBJECT)
)
RISK_PROBABILITY = gauge(
    "risk_probability_ratio", "ratio", "Probability of the predicted failure.", ("risk", *_SUBJECT)
)
RISK_FORECAST_TIME = gauge(
    "risk_forecast_timestamp_seconds", "seconds", "Time at which the failure was predicted, in Unix time.",
    ("risk", *_SUBJECT),
)  # fmt: skip
CONDITION_METRICS = (
    ACTIVE,
    INFO,
    RISK_LEFT,
    RISK_LEFT_LOW,
    RISK_LEFT_HIGH,
    RISK_PROBABILITY,
    RISK_FORECAST_TIME,
)

ADVICE = gauge("advice_active", "info", "Always 1. Its labels name a rule whose advice is active.", ("rule", "run"))
ADVICE_LOW = gauge(
    "advice_gain_low_ratio",
    "ratio",
    "Lower bound of the expected gain in throughput: 0.5 means 50 % more.",
    ("rule", "run"),
)
ADVICE_HIGH = gauge(
    "advice_gain_high_ratio", "ratio", "Upper bound of the expected gain in throughput.", ("rule", "run")
)
ADVICE_METRICS = (ADVICE, ADVICE_LOW, ADVICE_HIGH)

RUN_WASTED = counter(
    "run_wasted_gpu_seconds_total",
    "seconds",
    "GPU time that a run lost, by the condition that caused it.",
    ("run", "cause"),
)
RUN_INFO = gauge(
    "run_info",
    "info",
    "Always 1 while a run has processes. Labels: how the processes were attributed to the run, and their user.",
    ("run", "source", "user"),
)
RUN_STARTED = gauge("run_start_timestamp_seconds", "seconds", "Start of a run's first process, in Unix time.", ("run",))
RUN_GPUS = gauge("run_gpus", "gpus", "GPUs that the processes of a run hold.", ("run",))
RUN_RANKS = gauge("run_ranks", "ranks", "Ranks of a run: those that report, or else those of its processes.", ("run",))
RUN_MEDIAN = gauge("run_step_median_seconds", "seconds", "Duration of a step: the median over the ranks.", ("run",))
RUN_SLOWEST = gauge("run_slowest_step_seconds", "seconds", "Duration of a step on the slowest rank.", ("run",))
RUN_LEFT = gauge("run_remaining_seconds", "seconds", "Most probable time until the run ends.", ("run",))
RUN_LEFT_LOW = gauge(
    "run_remaining_low_seconds", "seconds", "Shortest time until the run ends (90 % interval).", ("run",)
)
RUN_LEFT_HIGH = gauge(
    "run_remaining_high_seconds", "seconds", "Longest time until the run ends (90 % interval).", ("run",)
)
RUN_CHECKPOINT = gauge(
    "run_last_checkpoint_timestamp_seconds",
    "seconds",
    "Time at which rank 0 last reported a section named checkpoint or alike, in Unix time.",
    ("run",),
)
RUN_FLOPS = gauge(
    "run_flops_per_token",
    "operations",
    "Floating-point operations for one token, forward and backward, as the label flops_per_token of the run declares.",
    ("run",),
)
RUN_PEAK_FLOPS = gauge(
    "run_peak_flops",
    "operations",
    "Operations that the GPUs of the run can do in a second, dense and in 16 bits, by their data sheets. Only for runs "
    "that declare flops_per_token.",
    ("run",),
)
RUN_METRICS = (
    RUN_WASTED,
    RUN_INFO,
    RUN_STARTED,
    RUN_GPUS,
    RUN_RANKS,
    RUN_MEDIAN,
    RUN_SLOWEST,
    RUN_LEFT,
    RUN_LEFT_LOW,
    RUN_LEFT_HIGH,
    RUN_CHECKPOINT,
    RUN_FLOPS,
    RUN_PEAK_FLOPS,
)

ADJUSTMENTS = counter(
    "adjustments_total",
    "adjustments",
    "Adjustments that ended since the collector's start, each once by its first outcome. Those that take another one "
    "back are not counted.",
    ("run", "lever", "outcome"),
)
ADJUSTMENT_GAIN = gauge(
    "adjustment_gain_ratio",
    "ratio",
    "Gain in speed that was measured after the last adjustment of this lever: 0.1 is 10 % faster, -0.1 is 10 % slower.",
    ("run", "lever"),
)
ADJUSTMENTS_IN_PROGRESS = gauge(
    "adjustments_in_progress",
    "adjustments",
    "Adjustments that wait for a person (proposed), for ranks (offered, committed), or are being measured (applied).",
    ("state",),
)
ADJUSTMENT_METRICS = (ADJUSTMENTS, ADJUSTMENT_GAIN, ADJUSTMENTS_IN_PROGRESS)

PRICE = gauge(
    "gpu_hour_price",
    "money",
    "Price of one GPU-hour, from the setting diagnosis.waste.price_per_gpu_hour.",
    ("currency",),
)

METRICS: tuple[Metric, ...] = (
    *HOST_METRICS,
    *CONDITION_METRICS,
    *ADVICE_METRICS,
    *RUN_METRICS,
    *ADJUSTMENT_METRICS,
    PRICE,
)
"""All of them. Hosts must not declare metrics of these names."""

assert all(metric.kind is not Kind.STATE for metric in METRICS)  # noqa: S101  they are written without state names
