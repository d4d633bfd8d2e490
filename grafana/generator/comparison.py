"""The comparison of a run with another one: a table of their figures over the time range, and graphs of both."""

from grafana_foundation_sdk.models.dashboard import Panel

from grafana.generator import diagnosis
from grafana.generator.board import Choice
from grafana.generator.panels import column, graph, linked, listing
from grafana.generator.queries import JOB, increase, over, rate, rows

OTHER = Choice(
    "other",
    "Compare with",
    "Another run, for the comparison at the end of the dashboard.",
    f"label_values(flyball_run_step{{{JOB}}}, run)",
    all_value=None,
)
BOTH = f'{{{JOB}, run=~"$run|$other"}}'
"""Series of both runs, wherever they are: the variable `instance` chooses the hosts of the first one."""

_RANGE = "$__range"


def model_flops_utilisation(tokens_per_second: str, selector: str, window: str = "") -> str:
    """Write the operations that the model needs, as a share of what the GPUs of the run can do.

    With a window, runs that have ended within it count too.
    """
    needs, can = f"flyball_run_flops_per_token{selector}", f"flyball_run_peak_flops{selector}"
    if window:
        needs, can = f"last_over_time({needs}[{window}])", f"last_over_time({can}[{window}])"
    needed = f"{tokens_per_second} * on (run) max by (run) ({needs})"
    return f"({needed} / on (run) max by (run) ({can}))"


def by_run(of_gpus: str, selector: str, window: str = "") -> str:
    """Sum a figure of GPUs over the GPUs that each run holds. Runs that share a GPU each count it."""
    holders = f"flyball_gpu_run_info{selector}"
    holders = f"last_over_time({holders}[{window}])" if window else holders
    return f"sum by (run) ({of_gpus} * on (instance, gpu) group_right () max by (instance, gpu, run) ({holders}))"


def panels() -> list[Panel]:
    """Return the table, and the graphs in which both runs are drawn."""
    everywhere = f"{{{JOB}}}"
    tokens = f"sum by (run) ({rate('flyball_run_tokens_total', BOTH)})"
    spent = f"sum by (run) ({rate('flyball_run_step_seconds_total', BOTH)})"
    power = by_run(rate("flyball_gpu_energy_joules_total", everywhere), BOTH)
    return [
        _table(),
        graph("Step time of both", "Median over the ranks of each run.", "s",
              over(f"max by (run) (flyball_run_step_median_seconds{BOTH})", "{{run}}"), span=6),
        graph("Data wait of both", "Share of the step time in which ranks wait for input.", "percentunit",
              over(f"sum by (run) ({rate('flyball_run_data_wait_seconds_total', BOTH)}) / {spent}", "{{run}}"),
              high=1, span=6),
        graph("Tokens of both", "Tokens each second.", "none", over(tokens, "{{run}}"), span=6),
        graph("Power of both", "Mean power of the GPUs of each run together.", "watt", over(power, "{{run}}"), span=6),
    ]  # fmt: skip


def _table() -> Panel:
    tokens, spent, waited = (
        f"sum by (run) ({increase(f'flyball_run_{name}_total', BOTH, _RANGE)})"
        for name in ("tokens", "step_seconds", "data_wait_seconds")
    )
    pace = f"{tokens} / max by (run) ({increase('flyball_run_step_seconds_total', BOTH, _RANGE)})"
    energy = by_run(increase("flyball_gpu_energy_joules_total", f"{{{JOB}}}", _RANGE), BOTH, _RANGE)
    first = f'{BOTH[:-1]}, rank="0"}}'
    wasted = f"sum by (run) ({increase('flyball_run_wasted_gpu_seconds_total', BOTH, _RANGE)}) / 3600"
    return listing(
        "Both runs over the time range",
        "The run and the one chosen in “Compare with”, also if they have ended within the time range. Tokens are those "
        "of a second of steps; energy is that of the GPUs that the run holds.",
        {
            "run": "Run", "Value #A": "Step", "Value #B": "Data wait", "Value #C": "Tokens a second", "Value #D": "MFU",
            "Value #E": "Loss", "Value #F": "Allocator peak", "Value #G": "Energy for a million tokens",
            "Value #H": "GPU-hours wasted",
        },
        rows(f"max by (run) (avg_over_time(flyball_run_step_median_seconds{BOTH}[{_RANGE}]))"),
        rows(f"{waited} / {spent}"),
        rows(pace),
        rows(model_flops_utilisation(pace, BOTH, _RANGE)),
        rows(f"max by (run) (last_over_time(flyball_run_loss{first}[{_RANGE}]))"),
        rows(f"max by (run) (max_over_time(flyball_run_allocated_peak_bytes{BOTH}[{_RANGE}]))"),
        rows(f"{energy} / on (run) {tokens} * 1e6"),
        rows(wasted),
        overrides={
            "Run": linked("Run", diagnosis.TO_RUN), "Step": column("s"), "Data wait|MFU": column("percentunit"),
            "Loss": column("none", decimals=4), "Allocator peak": column("bytes"), "Energy .*": column("joule"),
            "GPU-hours wasted": column("h"),
        },
        empty="No such run in this time range",
        span=24,
        height=6,
    )  # fmt: skip
