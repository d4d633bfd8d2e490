"""The diagnosis of hosts and runs over HTTP."""

from flyball_collector.http.diagnosis_testing import GPU, diagnosed
from flyball_collector.http.testing import fetch, make_parts, serving


async def test_a_host_is_diagnosed() -> None:
    """Scores with the raised one first, risks by time with the newest numbers, advice, and unknown as null."""
    async with serving(diagnosed()) as url:
        told = (await fetch(f"{url}/api/v1/hosts/a/diagnosis")).json()
    assert (told["host"], told["primary"], told["runs"]) == ("a", "disk", ["r"])
    assert told["base_scores"] == {"cpu": 0.4, "memory": None}
    disk, cpu = told["scores"]
    assert (disk["bottleneck"], disk["score"], disk["raised"], disk["confidence"]) == ("disk", 0.8, True, 0.7)
    assert (cpu["score"], cpu["raised"], cpu["confidence"]) == (0.2, False, None)
    assert [risk["kind"] for risk in told["risks"]] == ["disk_full", "memory_exhaustion"]
    assert told["risks"][1]["seconds_left"] == 300.0
    assert (told["risks"][1]["gpu"], told["risks"][1]["gpu_index"]) == (GPU, 3)
    assert {condition["kind"] for condition in told["conditions"]} == {
        "bottleneck_disk",
        "memory_exhaustion",
        "disk_full",
    }
    assert [advice["rule"] for advice in told["advice"]] == ["storage", "batch"]
    assert (told["advice"][0]["gain_low"], told["advice"][1]["gain_low"]) == (1.2, None)
    assert told["advice"][1]["needs_consent"]
    assert [(advice["gpu"], advice["gpu_index"]) for advice in told["advice"]] == [(GPU, 3), (None, None)]


async def test_a_quiet_host_has_nothing_to_say() -> None:
    """No scores known, nothing stands, no advice: empty and null, not zero; an unknown host is named."""
    async with serving(diagnosed()) as url:
        told = (await fetch(f"{url}/api/v1/hosts/c/diagnosis")).json()
        wrong = await fetch(f"{url}/api/v1/hosts/nobody/diagnosis")
    assert (told["primary"], told["conditions"], told["risks"], told["advice"]) == (None, [], [], [])
    assert {score["score"] for score in told["scores"]} == {None}
    assert wrong.status == 404


async def test_a_run_is_diagnosed_over_its_hosts() -> None:
    """Means over hosts, what stands of the run and its hosts, each host's own primary bottleneck."""
    async with serving(diagnosed()) as url:
        told = (await fetch(f"{url}/api/v1/runs/r/diagnosis")).json()
        wrong = (await fetch(f"{url}/api/v1/runs/rr/diagnosis")).json()
    assert told["base_scores"]["cpu"] == 0.3
    assert told["primary"] == "disk"
    assert told["hosts"] == [{"host": "a", "primary": "disk"}, {"host": "b", "primary": None}]
    assert {condition["kind"] for condition in told["conditions"]} >= {"straggler", "disk_full"}
    assert wrong["error"]["hint"] == "did you mean r?"


async def test_runs_are_listed_with_their_figures() -> None:
    """Ranks, hosts, newest step, step times, what remains, and what stands."""
    async with serving(diagnosed()) as url:
        told = (await fetch(f"{url}/api/v1/runs")).json()
    (run,) = told["runs"]
    assert (run["run"], run["ranks"], run["world_size"], run["hosts"], run["step"]) == ("r", 2, 2, ["a", "b"], 70)
    assert (run["step_median_seconds"], run["remaining_low_seconds"]) == (0.5, 3000.0)
    assert (run["conditions"], run["severity"]) == (1, "warning")


async def test_advice_is_filtered() -> None:
    """Of all, of a host, of a run."""
    async with serving(diagnosed()) as url:
        for query, rules in (
            ("", ["storage", "batch"]),
            ("?host=a", ["storage"]),
            ("?run=r", ["batch"]),
            ("?host=c", []),
        ):
            told = (await fetch(f"{url}/api/v1/advice{query}")).json()
            assert [advice["rule"] for advice in told] == rules


async def test_everything_is_described() -> None:
    """The description of the API names every path of the timeline, the diagnosis and silences."""
    async with serving(make_parts()) as url:
        paths = (await fetch(f"{url}/openapi.json")).json()["paths"]
    expected = ("events", "conditions", "kinds", "silences", "silences/{id}", "advice", "runs", "runs/{name}/diagnosis")
    assert {f"/api/v1/{path}" for path in expected} <= set(paths)
    assert {"get", "post"} == set(paths["/api/v1/silences"])
