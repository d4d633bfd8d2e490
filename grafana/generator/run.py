"""The run dashboard: a comparison of ranks, step times, GPUs, efficiency, bottlenecks, alerts, and another run."""

from grafana_foundation_sdk.models.common import StackingMode
from grafana_foundation_sdk.models.dashboard import Dashboard, Panel

from grafana.generator import adjustments, comparison, diagnosis, style
from grafana.generator.board import (
    BOTH_JOBS,
    Choice,
    Section,
    active_conditions,
    build,
    dashboard_url,
    instances,
    job,
    link,
)
from grafana.generator.panels import bars, column, graph, heat, history, linked, listing, number
from grafana.generator.queries import JOB, host, increase, now, on_hosts, over, rank, rate, rows, run

RUN, RANK = run(), rank()
STEP_TIME = rate("flyball_run_step_seconds_total", RANK)
DATA_WAIT = rate("flyball_run_data_wait_seconds_total", RANK)
STEPS = rate("flyball_run_steps_total", RANK)
AGAINST_MEDIAN = (
    f"max by (run, rank, instance) ({STEP_TIME} / {STEPS})"
    f" / on (run) group_left () max by (run) (flyball_run_step_median_seconds{RUN})"
)
SLOWEST = f"flyball_run_slowest_step_seconds{RUN} / flyball_run_step_median_seconds{RUN}"
TOKENS = rate("flyball_run_tokens_total", RANK)
MFU = comparison.model_flops_utilisation(f"sum by (run) ({TOKENS})", RUN)
WASTED = increase("flyball_run_wasted_gpu_seconds_total", RUN, "$__range")
ON_ITS_HOSTS = f"and on (instance) flyball_host_run_info{RANK}"
ON_ITS_GPUS = f"and on (instance, gpu) flyball_gpu_run_info{RANK}"
RUN_AND_HOSTS = {RUN: f"and on (run) flyball_host_run_info{RANK}", host(run=""): ON_ITS_HOSTS}
"""Selectors of conditions, alerts and advice of the run and its ranks, and of its hosts."""
GPU_NAME = "{{instance}} GPU {{index}}"
TO_GPU = {"GPU": dashboard_url("gpu", instance="${__field.labels.instance}", gpu="${__field.labels.gpu}")}
NAME = "{{run}} rank {{rank}}"


def runs() -> Dashboard:
    """Build the dashboard that the fleet's table of runs links to."""
    sections = [
        Section("Now", now_panels()),
        Section("Steps", step_panels()),
        Section("Comparison of ranks", rank_panels()),
        Section("Bottlenecks and problems", bottleneck_panels()),
        Section("Advice", [
            diagnosis.advice(RUN_AND_HOSTS),
            diagnosis.advice_over_time(RUN_AND_HOSTS),
        ]),
        Section("Adjustments", adjustments.outcomes(RUN, RANK)),
        Section("GPUs", gpu_panels()),
        Section("Efficiency and checkpoints", efficiency_panels()),
        Section("Waste", waste_panels()),
        Section("Comparison with another run", comparison.panels()),
    ]  # fmt: skip
    chosen = Choice(
        "run", "Run", "Runs that reported steps in the time range.", f"label_values(flyball_run_step{{{JOB}}}, run)"
    )
    return build(
        "run",
        "Run",
        "Progress of a training, a comparison of its ranks, and what limits its speed.",
        sections,
        choices=[
            job(*BOTH_JOBS),
            chosen,
            instances("flyball_run_step", "The hosts of the run.", run="=~$run"),
            comparison.OTHER,
        ],
        annotations=[
            active_conditions(
                "red", "Critical conditions of the run", run(severity="critical"), narrowed=RUN_AND_HOSTS[RUN]
            ),
            active_conditions("orange", "Warnings of the run", run(severity="warning"), narrowed=RUN_AND_HOSTS[RUN]),
            active_conditions(
                "purple",
                "Critical conditions of its hosts",
                host(severity="critical", run=""),
                narrowed=ON_ITS_HOSTS,
                enable=False,
            ),
            adjustments.marks(RUN, RANK),
        ],
        links=[link("Fleet", "fleet"), link("Hosts", "host", "instance"), link("GPUs", "gpu", "instance")],
    )


def of_run(metric: str) -> str:
    """Write a figure of the run, if it is on the chosen hosts."""
    return on_hosts(f"flyball_run_{metric}{RUN}", RANK)


def now_panels() -> list[Panel]:
    """Return the panels with large digits."""
    return [
        number("Ranks", "Ranks that report.", "none", now(of_run("ranks"), "{{run}}")),
        number("Step", "Median time of a step over the ranks.", "s",
               over(of_run("step_median_seconds"), "{{run}}"), trend=True),
        number("Slowest rank", "Step time of the slowest rank, as a multiple of the median. In synchronous training "
               "all steps take equally long, because ranks wait for each other: compare data waits and GPUs too.",
               "none",
               over(on_hosts(SLOWEST, RANK), "{{run}}"),
               trend=True, steps=((None, style.GOOD), (1.2, style.WARNING), (1.5, style.CRITICAL)), decimals=2),
        number("Data wait", "Share of the step time in which ranks wait for input.", "percentunit",
               over(f"sum by (run) ({DATA_WAIT}) / sum by (run) ({STEP_TIME})", "{{run}}"), trend=True,
               steps=style.STALLS, low=0, high=1),
        number("Remaining", "Most probable time until the last step, for runs that report their total number of "
               "steps.", "dtdurations", now(of_run("remaining_seconds"), "{{run}}"), empty="unknown"),
        number("Tokens", "Tokens each second.", "none",
               over(f"sum by (run) ({TOKENS})", "{{run}}"), trend=True),
        number("Loss", "Loss of the last step that rank 0 reported.", "none",
               over(f"flyball_run_loss{rank(rank='0')}", "{{run}}"), trend=True, decimals=4),
        number("GPU-hours wasted", "GPU time that the run lost in the time range.", "h",
               now(on_hosts(f"sum by (run) ({WASTED}) / 3600", RANK, "$__range"), "{{run}}")),
    ]  # fmt: skip


def step_panels() -> list[Panel]:
    """Return the speed of the run and the time that remains."""
    return [
        graph("Step time", "Median over the ranks, and the slowest rank.", "s",
              over(of_run("step_median_seconds"), "{{run}} median"),
              over(of_run("slowest_step_seconds"), "{{run}} slowest"), span=8),
        graph("Parts of a step", "Mean time of a step, split into waiting for data and the rest (computing and "
              "communicating).", "s",
              over(f"sum by (run) ({DATA_WAIT}) / sum by (run) ({STEPS})", "{{run}} data wait"),
              over(f"(sum by (run) ({STEP_TIME}) - sum by (run) ({DATA_WAIT})) / sum by (run) ({STEPS})",
                   "{{run}} rest"),
              stack=StackingMode.NORMAL),
        graph("Time remaining", "The most probable time until the last step, and the bounds of its 90 % interval.",
              "dtdurations",
              over(of_run("remaining_seconds"), "{{run}}"),
              over(of_run("remaining_low_seconds"), "{{run}} at least"),
              over(of_run("remaining_high_seconds"), "{{run}} at most")),
        graph("Throughput", "Tokens and samples each second, all ranks together.", "none",
              over(f"sum by (run) ({TOKENS})", "{{run}} tokens"),
              over(f"sum by (run) ({rate('flyball_run_samples_total', RANK)})", "{{run}} samples"),
              span=12),
        graph("Loss", "Loss of the last step that each rank reported.", "none", over(f"flyball_run_loss{RANK}", NAME),
              span=12),
    ]  # fmt: skip


def rank_panels() -> list[Panel]:
    """Return the comparison of ranks, which shows stragglers."""
    by = "by (run, rank, instance)"
    return [
        history("Step of each rank against the median", "Mean step time of a rank divided by the median of the ranks: "
                "1 is as fast as the others. A row that stays red is a straggler. If all ranks wait for the slowest at "
                "each step, compare data wait, power and clocks instead.", "none",
                over(AGAINST_MEDIAN, f"{NAME} ({{{{instance}}}})"), decimals=2,
                steps=((None, style.GOOD), (1.1, "yellow"), (1.2, style.WARNING), (1.5, style.CRITICAL)), span=12,
                height=10),
        history("Data wait of each rank", "Share of the step time in which a rank waits for input. It shows a "
                "straggler even if ranks wait for each other.", "percentunit",
                over(f"{DATA_WAIT} / {STEP_TIME}", f"{NAME} ({{{{instance}}}})"),
                steps=style.STALLS, span=12, height=10),
        listing("Ranks", "The slowest rank first. Step against median is the rank's step time divided by the median.", {
            "run": "Run", "rank": "Rank", "instance": "Host", "Value #A": "Last step", "Value #B": "Step",
            "Value #C": "Step against median", "Value #D": "Data wait", "Value #E": "Loss"},
            rows(f"max {by} (flyball_run_step{RANK})"),
            rows(f"max {by} ({STEP_TIME} / {STEPS})"),
            rows(AGAINST_MEDIAN),
            rows(f"max {by} ({DATA_WAIT} / {STEP_TIME})"),
            rows(f"max {by} (flyball_run_loss{RANK})"),
            sort="Step against median", overrides={
                "Host": linked("Host", diagnosis.TO_HOST), "Step": column("s"),
                "Data wait": column("percentunit", style.STALLS),
                "Step against median": column("none", ((None, style.GOOD), (1.2, style.WARNING), (1.5, style.CRITICAL)),
                                              decimals=2), "Loss": column("none", decimals=4)},
            span=24, height=9),
    ]  # fmt: skip


def bottleneck_panels() -> list[Panel]:
    """Return the bottlenecks of the hosts of the run, and all problems."""
    return [
        graph("Primary bottlenecks of its hosts", "Share of each primary bottleneck among the run's hosts that have "
              "one.", "none",
              over(f"sum by (bottleneck) (flyball_primary_bottleneck{host()} {ON_ITS_HOSTS})", "{{bottleneck}}"),
              stack=StackingMode.PERCENT, span=12, height=9),
        heat("Scores of its hosts", "Mean score of each bottleneck over the run's hosts.", "percentunit",
             over(f"avg by (bottleneck) (flyball_score_ratio{host()} {ON_ITS_HOSTS})", "{{bottleneck}}"), high=1,
             span=12, height=9),
        diagnosis.conditions(RUN_AND_HOSTS, span=12, height=9),
        diagnosis.alerts(RUN_AND_HOSTS, span=12, height=9),
    ]  # fmt: skip


def gpu_panels() -> list[Panel]:
    """Return the GPUs that the run holds, to find one that differs from its peers."""
    return [
        graph("Utilisation", "Minimum, mean and maximum over the run's GPUs on each host.", "percentunit",
              *(over(f"{function} by (instance) (flyball_gpu_utilization_ratio{host()} {ON_ITS_GPUS})",
                     f"{{{{instance}}}} {function}") for function in ("min", "avg", "max")), high=1),
        graph("Power", "A GPU that draws less power than the others at equal utilisation waits for them.", "watt",
              over(f"flyball_gpu_power_watts{host()} {ON_ITS_GPUS}", GPU_NAME), links=TO_GPU),
        graph("SM clock", "A GPU with a lower clock than its peers slows the whole run.", "hertz",
              over(f"flyball_gpu_sm_clock_hertz{host()} {ON_ITS_GPUS}", GPU_NAME), links=TO_GPU),
        graph("GPU memory", "Memory that all processes on the run's GPUs hold, and the smallest total.", "bytes",
              over(f"flyball_gpu_memory_used_bytes{host()} {ON_ITS_GPUS}", GPU_NAME),
              over(f"min(flyball_gpu_memory_total_bytes{host()} {ON_ITS_GPUS})", "total"),
              overrides={"total": style.limit_line()}, links=TO_GPU),
        graph("GPU temperature", "Temperature of the core, and the lowest temperature at which a GPU of the run slows "
              "down.", "celsius",
              over(f"flyball_gpu_temperature_celsius{host()} {ON_ITS_GPUS}", GPU_NAME),
              over(f"min(flyball_gpu_slowdown_temperature_celsius{host()} {ON_ITS_GPUS})", "slowdown"),
              overrides={"slowdown": style.limit_line()}, links=TO_GPU),
        graph("Allocator peaks", "Most memory that the tensors of a rank held (allocated), and most that its allocator "
              "took from the GPU (reserved), as the training reports them. What is reserved and not allocated is cache "
              "or lost to fragments.", "bytes",
              over(f"flyball_run_allocated_peak_bytes{RANK}", f"{NAME} allocated"),
              over(f"flyball_run_reserved_peak_bytes{RANK}", f"{NAME} reserved")),
    ]  # fmt: skip


def efficiency_panels() -> list[Panel]:
    """Return how well the GPUs are used, what that costs in energy, and the age of the last checkpoint."""
    checkpoint = f"time() - {of_run('last_checkpoint_timestamp_seconds')}"
    energy = f"{increase('flyball_gpu_energy_joules_total', host(), '$__range')} {ON_ITS_GPUS}"
    power = comparison.by_run(rate("flyball_gpu_energy_joules_total", host()), RANK)
    return [
        number("MFU", "Model FLOPS utilisation: the operations that the model needs for the tokens, as a share of what "
               "the run's GPUs can do in 16 bits. Needs the label flops_per_token of the run, for example "
               "6 × parameters.", "percentunit", over(on_hosts(MFU, RANK), "{{run}}"), trend=True,
               empty="no flops_per_token", span=6, height=6),
        number("Age of the last checkpoint", "Time since rank 0 last reported a section named checkpoint or "
               "save_checkpoint. Work since then is lost if the run ends now.", "dtdurations",
               now(checkpoint, "{{run}}"), empty="none reported", span=6, height=6),
        number("Energy", "Energy that the run's GPUs used in the time range.", "kwatth",
               now(f"sum({energy}) / 3.6e6", "used"), span=6, height=6, decimals=2),
        number("Energy for a million tokens", "Energy of the GPUs divided by the tokens of the run.", "joule",
               over(f"{power} / on (run) sum by (run) ({TOKENS}) * 1e6", "{{run}}"), trend=True, span=6, height=6),
        graph("MFU over time", "Model FLOPS utilisation, see above.", "percentunit",
              over(on_hosts(MFU, RANK), "{{run}}"), high=1, empty="No run declares flops_per_token"),
        graph("Age of the last checkpoint over time", "A saw whose teeth are as high as the interval of checkpoints. A "
              "tooth that grows beyond the others: checkpoints have stopped.", "dtdurations",
              over(checkpoint, "{{run}}"), empty="No checkpoint was reported"),
        graph("Power of the run", "Mean power of the run's GPUs together, from their energy counters.", "watt",
              over(power, "{{run}}")),
    ]  # fmt: skip


def waste_panels() -> list[Panel]:
    """Return GPU time that was held and not used."""
    lost = on_hosts(rate("flyball_run_wasted_gpu_seconds_total", RUN), RANK)
    return [
        bars("GPU-hours wasted by cause", "GPU time that the run lost in the time range, by cause.", "h",
             now(on_hosts(f"sum by (run, cause) ({WASTED}) / 3600", RANK, "$__range"), "{{run}} {{cause}}"), span=8),
        graph("GPUs wasted, by cause", "GPU-seconds lost each second: 8 means as much as eight idle GPUs.", "none",
              over(f"sum by (cause) ({lost})", "{{cause}}"),
              stack=StackingMode.NORMAL, span=16),
    ]  # fmt: skip
