"""The texts of notifications."""

from pathlib import Path

from flyball_collector.diagnosis.kinds import KINDS, Severity
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.notify.adjustment_kinds import ADJUSTMENT_KINDS, WAITS_FOR_APPROVAL
from flyball_collector.notify.alert_text import Links, alert_name, annotations, description, labels
from flyball_collector.timeline.entry import Entry, entry_of
from flyball_collector.timeline.testing import cleared, make_event

RUNBOOKS = Path(__file__).parents[3] / "docs" / "runbooks"


def test_labels_identify_an_alert() -> None:
    """They have host, GPU, run, rank and resource where these apply, and no empty values."""
    entry = entry_of(make_event("straggler", subject=Subject("node-1", run="r", rank=0)))
    assert labels(entry) == {
        "alertname": "FlyballRunStraggler",
        "kind": "straggler",
        "severity": "warning",
        "instance": "node-1",
        "run": "r",
        "rank": "0",
    }
    assert labels(entry, severity="critical")["severity"] == "critical"


def test_a_hosts_texts_are_cleaned() -> None:
    """Control characters are replaced, and the length is limited."""
    entry = entry_of(make_event(subject=Subject("a\x1b[31m" + "x" * 5000), because="\r\nBcc: all"))
    text = labels(entry)["instance"] + description(entry)
    assert text.isprintable()
    assert len(labels(entry)["instance"]) == 256


def test_a_description_has_place_confidence_and_time_left() -> None:
    """The time left is included while the condition is active."""
    event = make_event(seconds_left=600.0)
    assert (
        description(entry_of(event))
        == "GPU 1 on node-1: used 93 %, 12 MiB more each second; 10 min left (80 % confidence)"
    )
    assert "left" not in description(entry_of(cleared(event)))
    assert "left" not in description(entry_of(make_event(seconds_left=0.0)))
    assert annotations(entry_of(event), Links())["summary"].startswith("Memory")


def test_annotations_have_the_runs_and_the_page() -> None:
    """The names of the runs with their users, without control characters, and the address of the subject's page."""
    entry = entry_of(make_event())
    texts = annotations(entry, Links("https://flyball.example", runs=lambda _: "llama\x1b (ada)"))
    assert texts["run"] == "llama\N{REPLACEMENT CHARACTER} (ada)"
    assert texts["page_url"] == "https://flyball.example/#/host/node-1"
    assert annotations(entry, Links()).keys() == {"summary", "description"}


def test_people_see_a_gpus_number_and_alerts_use_its_uuid() -> None:
    """A changed number does not make another alert."""
    gpu = "GPU-3f2a9c1e-52d0-4b7e-9c55-0d6b8f4a7e21"
    third, fifth, unknown = (
        entry_of(make_event(subject=Subject("node-7", gpu), gpu_index=number)) for number in (3, 5, None)
    )
    assert labels(third) == labels(fifth) == labels(unknown)
    assert labels(third)["gpu"] == gpu
    assert annotations(third, Links())["description"].startswith("GPU 3 on node-7: used 93 %")
    assert description(unknown).startswith("GPU 3f2a9c1e on node-7: ")


def test_links_lead_to_the_host_and_the_runbook() -> None:
    """Links need the base addresses; names in them are quoted."""
    links = Links("https://flyball.example/", "https://docs.example/runbooks/")
    entry = entry_of(make_event(host="a/b?c", subject=Subject("a/b?c")))
    assert links.page(entry) == "https://flyball.example/#/host/a%2Fb%3Fc"
    assert links.runbook(entry) == "https://docs.example/runbooks/FlyballHostOomRisk.md"
    assert "runbook_url" not in annotations(entry, Links())


def test_links_about_a_run_lead_to_its_page() -> None:
    """Conditions of a run as a whole have no host; those about adjustments name one if the run has only one."""
    page = "https://flyball.example/#/runs/a%2Fb"
    links = Links("https://flyball.example")
    assert links.page(entry_of(make_event("fail_slow", subject=Subject(run="a/b")))) == page
    assert links.page(Entry(id="1", time_ns=1, state="raised", kind=WAITS_FOR_APPROVAL, host="h", run="a/b")) == page


def test_alert_names_are_those_of_the_rules_and_runbooks() -> None:
    """Every kind that notifies has a runbook under its alert's name, at every severity."""
    for kind in KINDS:
        for severity in Severity if kind.notifies and kind.name != "load_imbalance" else ():
            for subject in (Subject("a"), Subject("a", gpu="GPU-1")):
                entry = entry_of(make_event(kind.name, severity=severity, subject=subject))
                assert (RUNBOOKS / f"{alert_name(entry)}.md").exists(), kind.name
    assert alert_name(entry_of(make_event("load_imbalance"))) == "FlyballRunLoadImbalance"


def test_kinds_of_adjustments_have_texts_and_runbooks() -> None:
    """Their meanings are the summaries of their runbooks; one that waits for approval needs no runbook."""
    links = Links(runbook_url="https://docs.example")
    for kind, meaning in ADJUSTMENT_KINDS.items():
        entry = Entry(id="1", time_ns=1, state="raised", kind=kind, condition="1", run="r")
        texts = annotations(entry, links)
        assert texts["summary"] == meaning
        runbook = RUNBOOKS / texts.get("runbook_url", "").removeprefix("https://docs.example/")
        if kind == WAITS_FOR_APPROVAL:
            assert "runbook_url" not in texts
        else:
            assert meaning in runbook.read_text(encoding="utf-8")
