"""Queries for Prometheus: selectors that follow the variables of a dashboard, and targets of panels."""

from grafana_foundation_sdk.builders.prometheus import Dataquery
from grafana_foundation_sdk.models.common import DataSourceRef
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

DATASOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")
JOB = 'job=~"$job"'
INSTANCE = 'instance=~"$instance"'
_OPERATORS = ("=~", "!~", "!=")


def matchers(**labels: str) -> str:
    """Write label matchers: `reason="=~failed|denied"` is a regular expression; without an operator it is equality."""
    parts = []
    for name, value in labels.items():
        operator = next((each for each in _OPERATORS if value.startswith(each)), "")
        parts.append(f'{name}{operator or "="}"{value.removeprefix(operator)}"')
    return ", ".join(parts)


def host(**labels: str) -> str:
    """Return the selector of series that belong to hosts."""
    return "{" + ", ".join(filter(None, [JOB, INSTANCE, matchers(**labels)])) + "}"


def gpu(**labels: str) -> str:
    """Return the selector of series that belong to GPUs, for dashboards with the variable `gpu`."""
    return host(gpu="=~$gpu", **labels)


def run(**labels: str) -> str:
    """Return the selector of series that belong to a run and to no host. Their `instance` is the collector's."""
    return "{" + ", ".join(filter(None, [JOB, 'run=~"$run"', matchers(**labels)])) + "}"


def rank(**labels: str) -> str:
    """Return the selector of series that belong to the ranks of a run on their hosts."""
    return host(run="=~$run", **labels)


def on_hosts(expression: str, hosts: str, window: str = "") -> str:
    """Narrow series of runs, which belong to no host, to runs on the chosen hosts. `hosts` is the selector of these.

    With a window, runs that have ended within it count too.
    """
    found = f"flyball_host_run_info{hosts}"
    return f"{expression} and on (run) {f'last_over_time({found}[{window}])' if window else found}"


def over(expression: str, legend: str = "") -> Dataquery:
    """Query the whole time range."""
    return Dataquery().expr(expression).legend_format(legend or "__auto").range()


def now(expression: str, legend: str = "") -> Dataquery:
    """Query the end of the time range."""
    return Dataquery().expr(expression).legend_format(legend or "__auto").instant()


def rows(expression: str) -> Dataquery:
    """Query the end of the time range as table rows with a column for each label."""
    return now(expression).format(PromQueryFormat.TABLE)


def rate(metric: str, selector: str) -> str:
    """Write the growth of a counter for each second."""
    return f"rate({metric}{selector}[$__rate_interval])"


def increase(metric: str, selector: str, window: str = "$__rate_interval") -> str:
    """Write the growth of a counter from one point to the next, or over `$__range`."""
    return f"increase({metric}{selector}[{window}])"
