"""The report's section on the time of a training and its reasons."""

from flyball_planner.plan.plan import Plan
from flyball_planner.report.part_names import limit_name
from flyball_planner.report.part_rows import ends, part_rows, supposed
from flyball_reports.figures import count, duration, figure, percent, rate, spread
from flyball_reports.section import ReportTable, Section

NOTICED = 1.005  # overrun from which on it is shown
LEAST_SHARE = 0.01  # per cent
OPERATOR_HEADS = ("Operator", "Kind", "FLOP per byte", "Best speed", "Share of time")


def computation(plan: Plan, *, verbose: bool = False) -> Section:
    """Return the section on the time and its reasons."""
    computed = plan.computation
    rows = [*_run_rows(plan), *_speed_rows(plan)]
    tables = [ReportTable(tuple(row for row in rows if row[1]))]
    if len(computed.step_parts) > 1:
        steps = part_rows(computed.step_parts, computed.step_seconds.middle, duration, verbose=verbose)
        tables.append(ReportTable(steps, ("Part of a step", "Time", "Share"), (1, 2)))
    if verbose and computed.roofline:
        tables.append(ReportTable(_operators(plan), OPERATOR_HEADS, (2, 3, 4)))
    return Section("Computation", tables=tuple(tables))


def _run_rows(plan: Plan) -> tuple[tuple[str, str], ...]:
    computed = plan.computation
    alone = computed.steps_alone_seconds
    whole = f"{computed.estimated_train_time_human} ({ends(computed.estimated_train_seconds)})"
    goodput = f"{computed.goodput_percent:.0f} % of the time goes to steps at their full pace"
    return (
        ("Complete run", supposed(plan, whole)),
        ("Steps alone", spread(alone, duration) if alone is not None else ""),
        ("Beyond the steps", _beyond(plan)),
        ("Goodput", goodput if plan.training.optimizer else ""),
        ("Training FLOPs", rate(computed.training_flops, "FLOP"))
        if plan.training.optimizer
        else ("Operations", count(computed.training_flops)),
    )


def _speed_rows(plan: Plan) -> tuple[tuple[str, str], ...]:
    computed, tokens = plan.computation, plan.model.tokens_per_sample > 1
    unit, speed = ("token", computed.tokens_per_second) if tokens else ("sample", computed.samples_per_second)
    watts = computed.average_power_watts
    return (
        ("Step", spread(computed.step_seconds, duration) if plan.training.optimizer else ""),
        ("Speed", f"{figure(speed)} {unit}s per second"),
        ("Utilisation", _utilisation(plan)),
        ("Efficiency", _efficiency(plan)),
        ("Limited by", ": ".join(filter(None, (limit_name(computed.bottleneck), _intensity(plan))))),
        ("Power", f"{watts:.0f} W per device on average" if watts else ""),
    )


def _beyond(plan: Plan) -> str:
    """Return what complete runs need beyond their steps."""
    factor = plan.computation.overrun
    if factor is None:
        return ""
    planned = "the start, checkpoints, evaluation, expected failures"
    if factor < NOTICED:
        return planned
    return f"{planned}; {percent(factor - 1)} more as published runs took: restarts, slower phases, slower software"


def _efficiency(plan: Plan) -> str:
    """Return the share of the peak that products reach, or that a classical model reaches."""
    computed = plan.computation
    if computed.efficiency is None:
        return ""
    products = computed.mfu_percent is not None or computed.efficiency_basis == "as specified"
    reached = "matrix products reach" if products else "the model reaches"
    return f"{reached} {percent(computed.efficiency)} of the peak rate ({computed.efficiency_basis})"


def _intensity(plan: Plan) -> str:
    """Return how much of the operators' time arithmetic and memory limit; each operator has its own limit."""
    computed = plan.computation
    if not plan.training.optimizer or not computed.arithmetic_intensity_flops_per_byte or not computed.roofline:
        return ""  # steps of a classical model are not FLOPs, and have no roofline
    ridge = computed.ridge_flops_per_byte
    arithmetic = sum(each.time_share for each in computed.roofline if each.flops_per_byte >= ridge)
    moving = sum(each.time_share for each in computed.roofline if each.flops_per_byte < ridge)
    total = (arithmetic + moving) or 1.0
    return (
        f"of the forward pass's operators, {percent(arithmetic / total)} of the time is limited by arithmetic (above "
        f"{figure(ridge)} FLOP per byte), {percent(moving / total)} by memory; "
        f"{figure(computed.arithmetic_intensity_flops_per_byte)} FLOP per byte over all"
    )


def _utilisation(plan: Plan) -> str:
    computed = plan.computation
    named = (
        ("of the peak rate (MFU)", computed.mfu_percent),
        ("with recomputation (HFU)", _if_differs(computed.hfu_percent, computed.mfu_percent)),
        ("of the 16-bit peak", computed.wide_mfu_percent),
    )
    return ", ".join(f"{_share(value)} {name}" for name, value in named if value)


def _if_differs(value: float | None, other: float | None) -> float | None:
    """Return a share unless it is the other one: without recomputation, both utilisations are equal."""
    return None if value is None or other is None or _share(value) == _share(other) else value


def _share(percentage: float) -> str:
    if percentage < LEAST_SHARE:
        return f"less than {LEAST_SHARE} %"
    return f"{percentage:.2g} %" if percentage < 1 else f"{percentage:.1f} %"


def _operators(plan: Plan) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (
            each.name,
            each.kind,
            figure(each.flops_per_byte) if each.flops_per_byte else "–",
            rate(each.flops_per_second, "FLOP/s") if each.flops_per_second else "only moves bytes",
            percent(each.time_share),
        )
        for each in plan.computation.roofline
    )
