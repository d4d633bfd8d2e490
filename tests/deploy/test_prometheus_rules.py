"""Test the alert rules: each fires, stays quiet, clears, has a runbook, and uses metrics that exist."""

import functools
import re
import shutil
import subprocess
from collections import defaultdict
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from flyball_agent.accelerators.catalogue import build_accelerator_probes
from flyball_agent.probes.catalogue import build_host_probes
from flyball_agent.self_metrics import SelfMetrics, SelfProbe
from flyball_agent.settings import AgentSettings
from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.exporter import host_metrics
from flyball_collector.exporter.catalogue import sample_name
from flyball_collector.exporter.diagnosis.metrics import METRICS
from flyball_collector.notify.alert_text import alert_name
from flyball_collector.notify.inhibitions import INHIBITIONS
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.timeline.entry import Entry

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "prometheus"
RUNBOOKS = ROOT / "docs" / "runbooks"
RULES = sorted(FOLDER.glob("*.rules.yml"))
TESTS = sorted(FOLDER.glob("*.rules.test.yml"))
SCENES = sorted((Path(__file__).parent / "scenes").glob("*.yml"))

with_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")


@functools.cache
def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def rules() -> list[dict[str, Any]]:
    return [rule for path in RULES for group in load(path)["groups"] for rule in group["rules"]]


ALERTS = [rule for rule in rules() if "alert" in rule]
NAMES = sorted({rule["alert"] for rule in ALERTS})
ALWAYS = "FlyballWatchdog"
OF_SUBJECTS = {"evidence", "run", "page_url"}
"""Annotations of alerts about a host, a GPU or a run."""
NO_COLLECTOR = "FlyballScrapeMissing"  # fires when there are no series at all


def promtool(*arguments: str) -> tuple[int, str]:
    done = subprocess.run(["promtool", *arguments], cwd=FOLDER, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@with_promtool
@pytest.mark.parametrize("path", RULES, ids=lambda path: path.name)
def test_promtool_accepts_the_rules(path: Path) -> None:
    """promtool reports neither an error nor a warning of its linter."""
    code, output = promtool("check", "rules", "--lint=all", "--lint-fatal", path.name)
    assert code == 0, output


@with_promtool
@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.name)
def test_the_rules_pass_their_promtool_tests(path: Path) -> None:
    """`promtool test rules` confirms every expectation."""
    code, output = promtool("test", "rules", path.name)
    assert code == 0, output


@with_promtool
@pytest.mark.parametrize("path", SCENES, ids=lambda path: path.stem)
def test_the_rules_do_what_a_scene_needs(path: Path) -> None:
    """Series of a whole situation, drawn or recorded, give the alerts and annotations that its file lists."""
    code, output = promtool("test", "rules", str(path))
    assert code == 0, output


@with_promtool
def test_promtool_accepts_the_example_of_prometheus(tmp_path: Path) -> None:
    """The example is valid as shipped, and with the commented-out scraping and optional rules enabled."""
    code, output = promtool("check", "config", "prometheus.yml")
    assert code == 0, output
    text = (FOLDER / "prometheus.yml").read_text(encoding="utf-8")
    other = re.sub(
        r"(?m)^  # (?=- |  )", "  ", text.replace("- job_name: flyball\n    scrape", "- job_name: x\n    scrape")
    )
    other = other.replace("  - job_name: flyball\n    honor_labels", "  - job_name: aggregate\n    honor_labels")
    assert {job["job_name"] for job in yaml.safe_load(other)["scrape_configs"]} == {
        "aggregate",
        "flyball",
        "flyball-collector",
    }
    for path in RULES:
        shutil.copy(path, tmp_path)
    (tmp_path / "prometheus.yml").write_text(other, encoding="utf-8")
    code, output = promtool("check", "config", str(tmp_path / "prometheus.yml"))
    assert code == 0, output
    assert "3 rule files found" in output


@functools.cache
def expectations() -> dict[str, list[tuple[dict[str, Any], list[dict[str, str]], list[str]]]]:
    """Return for each alert the tested moments, each with its expected labels and its input series."""
    found = defaultdict(list)
    for path in TESTS:
        for test in load(path)["tests"]:
            series = [each["series"] + " " + each["values"] for each in test["input_series"]]
            for moment in test.get("alert_rule_test", ()):
                expected = [alert["exp_labels"] for alert in moment["exp_alerts"]]
                found[moment["alertname"]].append((moment, expected, series))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_alert_is_tested_in_every_way(name: str) -> None:
    """Each alert fires in each severity, stays quiet for healthy series, clears, and ends with the series of a host."""
    moments = expectations()[name]
    fired = {labels["severity"] for _, expected, _ in moments for labels in expected}
    assert fired == {rule["labels"]["severity"] for rule in ALERTS if rule["alert"] == name}
    inputs = [" ".join(series) for _, _, series in moments]
    assert all('"gone"' in text or "stale" in text for text in inputs)
    if name in {ALWAYS, NO_COLLECTOR}:
        return
    firing = [expected for _, expected, _ in moments if expected]
    subjects = {labels.get("instance") or labels.get("run") for expected in firing for labels in expected}
    assert {"bad", "gone"} <= subjects
    assert "good" not in subjects
    assert all('"good"' in text for text in inputs)
    assert moments[-1][1] == [], "nothing fires at the end"
    assert any('"gone"' in line and line.endswith("stale") for line in moments[0][2]), "the series of gone end"


@pytest.mark.parametrize(
    "name", sorted({rule["alert"] for rule in ALERTS if rule.get("for")} - {"FlyballScrapeMissing"})
)
def test_an_alert_with_for_does_not_fire_too_early(name: str) -> None:
    """Before the time of `for` has passed, some severities do not fire yet."""
    moments = expectations()[name]
    most = max(len(expected) for _, expected, _ in moments)
    assert len(moments[0][1]) < most


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: f"{rule['alert']}-{rule['labels']['severity']}")
def test_every_alert_has_the_same_form(rule: dict[str, Any]) -> None:
    """Each alert has a CamelCase name with our prefix, a severity, a static summary, a description and a runbook."""
    assert re.fullmatch(r"Flyball([A-Z][a-z0-9]+)+", rule["alert"])
    assert rule["labels"].keys() == {"severity"}
    assert rule["labels"]["severity"] in {"critical", "warning", "info", "none"}
    annotations = rule["annotations"]
    assert annotations.keys() - OF_SUBJECTS == {"summary", "description", "runbook_url"}
    assert "{{" not in annotations["summary"]
    assert "{{" in annotations["description"] or rule["alert"] in {ALWAYS, NO_COLLECTOR}
    assert annotations["runbook_url"] == f"https://flyball.example/docs/runbooks/{rule['alert']}.md"
    assert annotations["summary"].endswith(".")
    assert annotations["description"].endswith(".")


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: f"{rule['alert']}-{rule['labels']['severity']}")
def test_an_alert_about_a_subject_leads_to_its_page_and_its_runs(rule: dict[str, Any]) -> None:
    """Only alerts about the collector and about alerting have neither; those of conditions have the evidence too."""
    group = next(group["name"] for path in RULES for group in load(path)["groups"] if rule in group["rules"])
    found = rule["annotations"].keys() & OF_SUBJECTS
    if group in {"flyball-collector", "flyball-watchdog"} or rule["alert"] == "FlyballCollectionSlow":
        assert not found
        return
    of_condition = "flyball_condition_active" in rule["expr"] or "flyball_risk_" in rule["expr"]
    assert found == (OF_SUBJECTS if of_condition or rule["alert"] == "FlyballHostOomKill" else {"run", "page_url"})


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: f"{rule['alert']}-{rule['labels']['severity']}")
def test_people_see_the_number_of_a_gpu(rule: dict[str, Any]) -> None:
    """A description names a GPU by its number, and by its UUID only if the number is unknown."""
    description = rule["annotations"]["description"]
    for harmless in ("{{ or $labels.index $labels.gpu }}", "{{ if $labels.gpu }}"):
        description = description.replace(harmless, "")
    assert "$labels.gpu" not in description
    assert "GPU {{" not in description


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: f"{rule['alert']}-{rule['labels']['severity']}")
def test_what_may_leave_seconds_is_not_waited_for(rule: dict[str, Any]) -> None:
    """A critical risk has no `for`, and a warning of it only if hours are left."""
    if "flyball_risk_left_seconds" not in rule["expr"]:
        return
    limit = float(rule["expr"].rsplit("<", 1)[1])
    assert "for" not in rule or limit > 3600


def test_severities_of_one_alert_share_their_annotations() -> None:
    """A critical alert has the annotations of the warning that it mutes."""
    for name in NAMES:
        assert len({str(rule["annotations"]) for rule in ALERTS if rule["alert"] == name}) == 1, name


def test_every_alert_has_its_runbook_and_every_runbook_its_alert() -> None:
    """There is no runbook without an alert and no alert without a runbook."""
    assert sorted(path.stem for path in RUNBOOKS.glob("*.md")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_runbook_has_four_sections(name: str) -> None:
    """Each runbook has four sections in a fixed order, none of them empty, and names the severities of its alert."""
    text = (RUNBOOKS / f"{name}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {name}\n")
    headings = re.findall(r"(?m)^## (.*)\n(.+)", text)
    assert [heading for heading, _ in headings] == ["What it means", "What to check", "What to do", "When it clears"]
    severities = {rule["labels"]["severity"] for rule in ALERTS if rule["alert"] == name}
    assert severities <= set(re.findall(r"critical|warning|info|none", text.split("##")[0]))


@pytest.mark.parametrize("name", NAMES)
def test_a_runbook_opens_with_the_summary_of_its_alert(name: str) -> None:
    """The first line repeats the summary, so that the reader recognises the alert."""
    (summary,) = {rule["annotations"]["summary"] for rule in ALERTS if rule["alert"] == name}
    assert (RUNBOOKS / f"{name}.md").read_text(encoding="utf-8").startswith(f"# {name}\n\n{summary} Severity: ")


@functools.cache
def known_names() -> frozenset[str]:
    """Return the names of all series that Prometheus can scrape from Flyball."""
    settings = AgentSettings()
    probes = [*build_host_probes(settings), *build_accelerator_probes(settings), SelfProbe(SelfMetrics())]
    declared = [metric for probe in probes for metric in probe.metrics]
    names = {sample_name(metric) for metric in (*declared, *host_metrics.METRICS, *METRICS)}
    for family in OwnMetrics().registry.collect():
        endings = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}.get(family.type, ("",))
        names |= {family.name + ending for ending in endings}
    return frozenset(names | {rule["record"] for rule in rules() if "record" in rule})


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.get("alert") or rule["record"])
def test_expressions_use_metrics_that_exist(rule: dict[str, Any]) -> None:
    """Metrics and kinds in expressions exist; with a wrong name an alert would never fire."""
    without_values = re.sub(r'"[^"]*"', '""', rule["expr"])
    used = set(re.findall(r"(?<![\w:])(?:\w+:)?flyball_\w+(?::\w+)?", without_values))
    assert used or rule.get("alert") == ALWAYS
    assert used <= known_names()
    assert set(re.findall(r'(?:kind|risk)="(\w+)"', rule["expr"])) <= BY_NAME.keys()


def test_runbooks_name_metrics_that_exist() -> None:
    """Every metric that a runbook mentions exists in Prometheus."""
    for path in RUNBOOKS.glob("*.md"):
        mentioned = set(re.findall(r"(?<![\w.])flyball_\w+", path.read_text(encoding="utf-8")))
        families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in known_names()}
        assert mentioned <= known_names() | families, path.name


@pytest.fixture
def alertmanager() -> dict[str, Any]:
    found: dict[str, Any] = load(FOLDER / "alertmanager.yml")
    return found


_MATCHER = re.compile(r'(\w+) (=|!=|=~|!~) "([^"]*)"')


def matches(matchers: list[str], labels: dict[str, str]) -> bool:
    """Match as Alertmanager does: all matchers must match, and a missing label is empty."""
    for matcher in matchers:
        found = _MATCHER.fullmatch(matcher)
        assert found, matcher
        name, operator, value = found.groups()
        label = labels.get(name, "")
        equal = re.fullmatch(value, label) is not None if "~" in operator else label == value
        if equal == operator.startswith("!"):
            return False
    return True


def muted(configuration: dict[str, Any], source: dict[str, str], target: dict[str, str]) -> bool:
    """Return True if one alert mutes another."""
    return any(
        matches(rule["source_matchers"], source)
        and matches(rule["target_matchers"], target)
        and not (matches(rule["target_matchers"], source) and matches(rule["source_matchers"], target))
        and all(source.get(name, "") == target.get(name, "") for name in rule["equal"])
        for rule in configuration["inhibit_rules"]
    )


def alert(name: str, severity: str, **labels: str) -> dict[str, str]:
    return {"alertname": f"Flyball{name}", "severity": severity, **labels}


def test_a_critical_alert_mutes_only_its_own_warning(alertmanager: dict[str, Any]) -> None:
    """A critical alert mutes the warning on the same GPU of the same host, and nothing else."""
    critical = alert("GpuOomRisk", "critical", instance="a", gpu="1")
    assert muted(alertmanager, critical, alert("GpuOomRisk", "warning", instance="a", gpu="1"))
    assert not muted(alertmanager, critical, alert("GpuOomRisk", "warning", instance="a", gpu="2"))
    assert not muted(alertmanager, critical, alert("GpuOomRisk", "warning", instance="b", gpu="1"))
    assert not muted(alertmanager, critical, alert("GpuHot", "warning", instance="a", gpu="1"))
    assert not muted(alertmanager, alert("GpuOomRisk", "warning", instance="a", gpu="1"), critical)


def test_a_hot_gpu_mutes_what_follows_from_it(alertmanager: dict[str, Any]) -> None:
    """A critical thermal risk mutes the alerts on heat and clocks of the same GPU, and of no other."""
    hot = alert("GpuThermalRisk", "critical", instance="a", gpu="1", index="0")
    for name in ("GpuHot", "GpuHwThermalSlowdown", "GpuSwThermalSlowdown"):
        for severity in ("critical", "warning"):
            assert muted(alertmanager, hot, alert(name, severity, instance="a", gpu="1", index="0"))
        assert not muted(alertmanager, hot, alert(name, "warning", instance="a", gpu="2"))
    assert not muted(alertmanager, alert("GpuThermalRisk", "warning", instance="a", gpu="1"),
                     alert("GpuHot", "critical", instance="a", gpu="1"))  # fmt: skip
    assert not muted(alertmanager, hot, alert("GpuXidCritical", "critical", instance="a", gpu="1"))


def test_the_notifier_inhibits_like_the_example(alertmanager: dict[str, Any]) -> None:
    """A condition that mutes another in webhooks has an alert that mutes the other's in the example."""
    for inhibition in INHIBITIONS:
        fields = {"host": "instance", "gpu": "gpu", "run": "run"}
        equal = {fields[name]: "x" for name in inhibition.equal}
        for source, target in product(inhibition.sources, inhibition.targets or {"data_gap", "straggler"}):
            names = [
                alert_name(Entry(id="", time_ns=0, state="raised", kind=kind, severity=severity))
                for kind, severity in ((source, "critical"), (target, "warning"))
            ]
            if set(names) <= set(NAMES):
                first, other = ({"alertname": name, **equal} for name in names)
                assert muted(alertmanager, first | {"severity": "critical"}, other | {"severity": "warning"}), names


def test_seconds_that_count_are_not_grouped(alertmanager: dict[str, Any]) -> None:
    """Critical risks go to the pager without a delay, each subject on its own."""
    for name in ("GpuOomRisk", "HostOomRisk", "GpuThermalRisk"):
        routes = alertmanager["route"]["routes"]
        route = next(r for r in routes if matches(r["matchers"], alert(name, "critical", instance="a", gpu="1")))
        assert (route["receiver"], route["group_wait"]) == ("pager", "0s")
        assert {"instance", "gpu", "resource"} <= set(route["group_by"])


def test_a_host_that_is_down_has_no_other_alerts(alertmanager: dict[str, Any]) -> None:
    """All other alerts of the host are muted; those of other hosts, of runs and of the collector are not."""
    down = alert("AgentDown", "critical", instance="a")
    assert muted(alertmanager, down, alert("GpuXidCritical", "critical", instance="a", gpu="1", code="79"))
    assert muted(alertmanager, down, alert("DataGap", "warning", instance="a"))
    assert not muted(alertmanager, down, alert("DataGap", "warning", instance="b"))
    assert not muted(alertmanager, down, alert("RunHang", "critical", instance="collector:3591", run="r"))
    assert not muted(alertmanager, down, alert("Watchdog", "none"))
    assert not muted(alertmanager, down, down)


def test_a_run_that_hangs_has_no_slow_ranks(alertmanager: dict[str, Any]) -> None:
    """A hang mutes the alerts on slow ranks of the same run, and of no other run."""
    hang = alert("RunHang", "critical", run="r")
    assert muted(alertmanager, hang, alert("RunStraggler", "warning", run="r", rank="1", instance="a"))
    assert not muted(alertmanager, hang, alert("RunStraggler", "warning", run="other", rank="1", instance="a"))


def test_the_example_of_alertmanager_is_consistent(alertmanager: dict[str, Any]) -> None:
    """Every route has a receiver that exists, and every alert name in a matcher is one of our alerts."""
    receivers = {receiver["name"] for receiver in alertmanager["receivers"]}
    routes = [alertmanager["route"], *alertmanager["route"]["routes"]]
    assert {route["receiver"] for route in routes} <= receivers
    assert alertmanager.keys() == {"route", "inhibit_rules", "receivers"}
    matchers = [
        m for rule in alertmanager["inhibit_rules"] for m in (*rule["source_matchers"], *rule["target_matchers"])
    ]
    matchers += [m for route in alertmanager["route"]["routes"] for m in route["matchers"]]
    for matcher in matchers:
        found = _MATCHER.fullmatch(matcher)
        assert found, matcher
        if found[1] == "alertname":
            assert set(found[3].split("|")) <= {*NAMES, "Flyball.+"}, matcher
