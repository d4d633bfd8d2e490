"""Metrics of the diagnosis, by who they are about: a host, its conditions, a run, or the whole fleet."""

from flyball_proto.metric import Kind, Metric, counter, gauge

BASE_SCORE = gauge(
    "base_score_ratio",
    "ratio",
    "The plain score of a resource, 0 at rest to 1 at its limit; a rule of thumb that alerts nobody.",
    ("resource",),
)
SCORE = gauge(
    "score_ratio",
    "ratio",
    "How much a resource bounds the work, 0 not at all to 1 wholly; of GPUs the host's worst.",
    ("bottleneck",),
)
CONFIDENCE = gauge(
    "score_confidence_ratio",
    "ratio",
    "How probable it is that a bottleneck that is raised is one.",
    ("bottleneck",),
)
PRIMARY = gauge("primary_bottleneck", "info", "Always 1: what bounds the host most.", ("bottleneck",))
COUNT = gauge("conditions", "conditions", "Conditions that stand, on the host and everything in it.", ("severity",))
WASTED = counter(
    "wasted_gpu_seconds_total",
    "seconds",
    "GPU time lost to a cause that stood: a GPU that was held and idled, or was slowed.",
    ("cause",),
)
XID_TIME = gauge(
    "gpu_xid_last_timestamp_seconds",
    "seconds",
    "When the driver last reported this error, in Unix time.",
    ("gpu", "code"),
)
HOST_METRICS = (BASE_SCORE, SCORE, CONFIDENCE, PRIMARY, COUNT, WASTED, XID_TIME)

_SUBJECT = ("gpu", "resource", "run", "rank")
ACTIVE = gauge("condition_active", "info", "Always 1: a condition that stands.", ("kind", "severity", *_SUBJECT))
RISK_LEFT = gauge(
    "risk_left_seconds", "seconds", "Time until what is foreseen happens, most probably.", ("risk", *_SUBJECT)
)
RISK_LEFT_LOW = gauge("risk_left_low_seconds", "seconds", "The same at the earliest.", ("risk", *_SUBJECT))
RISK_LEFT_HIGH = gauge("risk_left_high_seconds", "seconds", "The same at the latest.", ("risk", *_SUBJECT))
RISK_PROBABILITY = gauge(
    "risk_probability_ratio", "ratio", "How probable it is that what is foreseen happens.", ("risk", *_SUBJECT)
)
CONDITION_METRICS = (ACTIVE, RISK_LEFT, RISK_LEFT_LOW, RISK_LEFT_HIGH, RISK_PROBABILITY)

ADVICE = gauge("advice_active", "info", "Always 1: advice that is given.", ("rule", "run"))
ADVICE_LOW = gauge(
    "advice_gain_low_ratio", "ratio", "Throughput gained at least: 0.5 is half as much again.", ("rule", "run")
)
ADVICE_HIGH = gauge("advice_gain_high_ratio", "ratio", "Throughput gained at most.", ("rule", "run"))
ADVICE_METRICS = (ADVICE, ADVICE_LOW, ADVICE_HIGH)

RUN_WASTED = counter(
    "run_wasted_gpu_seconds_total", "seconds", "GPU time that a run lost to a cause.", ("run", "cause")
)
RUN_RANKS = gauge("run_ranks", "ranks", "Ranks of a run that report.", ("run",))
RUN_MEDIAN = gauge("run_step_median_seconds", "seconds", "Time of a step, the median over ranks.", ("run",))
RUN_SLOWEST = gauge("run_slowest_step_seconds", "seconds", "Time of a step of the slowest rank.", ("run",))
RUN_LEFT = gauge("run_remaining_seconds", "seconds", "Time until the run is done, most probably.", ("run",))
RUN_LEFT_LOW = gauge("run_remaining_low_seconds", "seconds", "The same at the earliest.", ("run",))
RUN_LEFT_HIGH = gauge("run_remaining_high_seconds", "seconds", "The same at the latest.", ("run",))
RUN_METRICS = (RUN_WASTED, RUN_RANKS, RUN_MEDIAN, RUN_SLOWEST, RUN_LEFT, RUN_LEFT_LOW, RUN_LEFT_HIGH)

PRICE = gauge("gpu_hour_price", "money", "What an hour of a GPU costs, where the settings say so.", ("currency",))

METRICS: tuple[Metric, ...] = (*HOST_METRICS, *CONDITION_METRICS, *ADVICE_METRICS, *RUN_METRICS, PRICE)
"""All of them: no host may declare a metric of these names."""

assert all(metric.kind is not Kind.STATE for metric in METRICS)  # noqa: S101  they are written without their words
