"""Adjustments over HTTP: what was changed and what it brought, who may decide, and what is refused with which words."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
from structlog.testing import capture_logs

from flyball_collector.adjustments.adjustment import RankAnswer
from flyball_collector.adjustments.settings import AdjustmentsSettings
from flyball_collector.http.adjustment_answers import MOST_ANSWERS, adjustment_answer
from flyball_collector.http.adjustment_testing import RANKS, AdjustableTraining, some_adjustment
from flyball_collector.http.testing import FetchedAnswer, fetch, make_parts, serving
from flyball_collector.security.tokens import Role, TokensFile, new_token
from flyball_proto.v1 import adjust_pb2 as pb

OPERATOR = {"X-Flyball-Operator": "1"}


async def post(url: str, headers: dict[str, str] | None = None, **body: Any) -> FetchedAnswer:
    chosen = {"Content-Type": "application/json", **(OPERATOR if headers is None else headers)}
    return await fetch(url, method="POST", headers=chosen, body=msgspec.json.encode(body))


def notes(run: AdjustableTraining) -> list[str]:
    """Return the kinds of the notes about adjustments, the oldest first."""
    return [each.kind for each in reversed(run.parts.timeline.recent()) if each.kind.startswith("adjustment")]


async def test_a_person_changes_a_value_and_sees_what_it_brought() -> None:
    """The answer has the decision, the answers of the ranks and the measured effect; each step is in the timeline."""
    run = await AdjustableTraining().begin()
    run.play(30)
    async with serving(run.parts) as base:
        url = f"{base}/api/v1/adjustments"
        made = await post(url, run="r", name="workers", to=4, why="try\x1bmore")
        assert made.status == 201
        found = made.json()
        assert (found["state"], found["value_from"], found["value_to"], found["actions"]) == ("offered", 2, 4, ["veto"])
        first = found["decisions"][0]
        assert (first["who"], first["why"]) == ("a local user", "try more")
        run.answer()
        applied = (await fetch(f"{url}/{found['id']}")).json()
        assert (applied["state"], applied["actions"]) == ("applied", ["undo"])
        assert [(each["rank"], each["verdict"], each["observed"]) for each in applied["answers"]] == [
            (str(rank), "applied", 4) for rank in range(4)
        ]
        run.play(40, step_seconds=0.16)
        kept = (await fetch(f"{url}?run=r")).json()
        (listed,) = kept["adjustments"]
        assert (listed["state"], kept["more"], kept["enabled"]) == ("kept", False, True)
        assert listed["effect"]["gain_low"] <= 1.25 <= listed["effect"]["gain_high"]
    (ended,), (gain,) = run.figures().ended, run.figures().gains
    assert ((ended.lever, ended.outcome, ended.number), round(gain.gain, 2)) == (("workers", "kept", 1), 0.25)
    counted = {"kind": "adjustment_kept", "state": "noted"}
    assert run.parts.own_metrics.registry.get_sample_value("flyball_collector_events_total", counted) == 1
    assert notes(run) == ["adjustment_decided", "adjustment_offered", "adjustment_applied", "adjustment_kept"]


async def test_harm_is_taken_back_and_shown() -> None:
    """The adjustment names the harm and the one that took it back, and the timeline has a warning."""
    run = await AdjustableTraining().begin()
    run.play(30)
    async with serving(run.parts) as base:
        made = (await post(f"{base}/api/v1/adjustments", run="r", name="workers", to=8)).json()
        run.answer()
        for _ in range(40):
            run.play(5, step_seconds=0.3)
            run.answer()
        shown = (await fetch(f"{base}/api/v1/adjustments/{made['id']}")).json()
    assert (shown["state"], shown["effect"]["faults"], shown["is_over"]) == ("rolled_back", ["slower"], True)
    assert shown["inverse"]
    assert run.value["workers"] == 2
    (warning,) = [each for each in run.parts.timeline.recent() if each.kind == "adjustment_rolled_back"]
    assert (warning.severity, warning.run) == ("warning", "r")
    assert warning.because.startswith("workers 2 → 8 taken back because it did harm, -")


async def test_what_a_rule_proposes_waits_for_a_person() -> None:
    """Approving offers it; a veto ends it with its reason; both name the person."""
    run = await AdjustableTraining().begin()
    run.play(30)
    async with serving(run.parts) as base:
        url = f"{base}/api/v1/adjustments"
        first = run.propose()
        waiting = (await fetch(f"{url}?state=in_progress")).json()["adjustments"]
        assert [(each["id"], each["actions"]) for each in waiting] == [(first.id, ["approve", "veto"])]
        vetoed = (await post(f"{url}/{first.id}/veto", why="evaluation at noon")).json()
        assert (vetoed["state"], vetoed["reason"]) == ("vetoed", "vetoed by a local user: evaluation at noon")
        assert (await fetch(f"{url}?state=in_progress")).json()["adjustments"] == []
        run.play(30)
        second = run.propose(to=8)
        approved = await post(f"{url}/{second.id}/approve")
        assert (approved.status, approved.json()["state"]) == (200, "offered")
    because = [each.because for each in run.parts.timeline.recent() if each.kind == "adjustment_decided"]
    assert because == ["a local user approved workers 2 → 8", "a local user vetoed workers 2 → 4: evaluation at noon"]
    proposed = next(each for each in run.parts.timeline.recent() if each.kind == "adjustment_proposed")
    assert f"`flyball adjust approve {second.id}`" in proposed.because
    assert "expected ×1.20 to ×1.80: the CPU is idle during calls" in proposed.because


async def test_an_applied_change_is_undone() -> None:
    """The answer is the inverse; afterwards the first one is undone."""
    run = await AdjustableTraining().begin()
    run.play(30)
    async with serving(run.parts) as base:
        url = f"{base}/api/v1/adjustments"
        made = (await post(url, run="r", name="workers", to=4)).json()
        run.answer()
        inverse = (await post(f"{url}/{made['id']}/undo", why="slower evaluation")).json()
        assert (inverse["inverse_of"], inverse["value_to"], inverse["state"]) == (made["id"], 2, "offered")
        run.answer()
        undone = (await fetch(f"{url}/{made['id']}")).json()
    assert (undone["state"], undone["actions"], run.value["workers"]) == ("undone", [], 2)
    assert undone["decisions"][-1]["who"] == "a local user"


REFUSED: tuple[tuple[str, dict[str, Any], int, str], ...] = (
    ("adjustments", {"run": "r", "name": "worker", "to": 4}, 404, "unknown_value"),
    ("adjustments", {"run": "r", "name": "worker", "to": 4}, 404, "did you mean 'workers'?"),
    ("adjustments", {"run": "r", "name": "workers", "to": 3}, 400, "3 is not a choice of workers expected 1, 2, 4, 8"),
    ("adjustments", {"run": "r", "name": "workers", "to": True}, 400, "true is not a choice of workers"),
    ("adjustments", {"run": "r", "name": "workers", "to": "4"}, 400, '"4" is not a choice of workers expected 1, 2, 4'),
    ("adjustments", {"run": "r", "name": "workers", "to": 2}, 409, "is 2 already"),
    ("adjustments", {"run": "r", "name": "compiled", "to": True}, 409, "compiled"),
    ("adjustments", {"run": "nobody", "name": "workers", "to": 4}, 404, "unknown_run"),
    ("adjustments", {"run": "r", "name": "workers", "to": [4]}, 400, "to"),
    ("adjustments", {"run": "r", "name": "workers", "to": None}, 400, "to"),
    ("adjustments", {"run": "r", "name": "workers"}, 400, "to"),
    ("adjustments", {"run": "r", "name": "workers", "to": 4, "why": "x" * 501}, 400, "why"),
    ("adjustments", {"run": "r", "name": "workers", "to": 4, "force": True}, 400, "force"),
    ("adjustments/9f2a/approve", {"why": ""}, 404, "unknown_adjustment"),
    ("adjustments/<script>/veto", {"why": ""}, 404, "unknown_adjustment"),
    ("adjustments/9f2a/undo", {}, 404, "unknown_adjustment"),
    ("policy", {"run": "r", "policy": "always"}, 400, "policy: 'always' is not one of off, ask, auto"),
    ("policy", {"run": "nobody", "policy": "off"}, 404, "unknown_run"),
)


async def test_what_cannot_be_changed_has_a_plain_reason() -> None:
    """Each answer names what is wrong; no rank is asked, and nothing is recorded as a decision."""
    run = await AdjustableTraining().begin()
    run.play(30)
    async with serving(run.parts) as base:
        for path, body, status, words in REFUSED:
            answer = await post(f"{base}/api/v1/{path}", **body)
            error = answer.json()["error"]
            shown = f"{error['code']} {error['what']} {error['hint']}"
            assert (answer.status, words in shown) == (status, True), (body, error)
    assert run.sent == []
    assert "adjustment_decided" not in notes(run)


async def test_a_wrong_state_and_a_missing_body_are_named() -> None:
    """The errors have the names that the client uses, and what is expected in their place."""
    run = await AdjustableTraining().begin()
    async with serving(run.parts) as base:
        url = f"{base}/api/v1/adjustments"
        state = (await fetch(f"{url}?state=bogus&limit=x")).json()["error"]
        missing = [await fetch(address, method="POST", headers=OPERATOR) for address in (url, f"{url}/9f2a/veto")]
    assert state["what"].startswith("state: 'bogus' is not one of in_progress, proposed, offered, committed,")
    assert state["what"].endswith("failed; limit: Expected `int`, got `str`")
    assert [(each.status, each.json()["error"]["what"]) for each in missing] == [
        (400, "the body is missing; expected JSON with run, name, to"),
        (400, "the body is missing; expected JSON, at least {}"),
    ]


async def test_a_decision_that_comes_too_late_names_the_state() -> None:
    """It changes nothing."""
    run = await AdjustableTraining().begin()
    run.play(30)
    async with serving(run.parts) as base:
        url = f"{base}/api/v1/adjustments"
        made = (await post(url, run="r", name="workers", to=4)).json()
        again = await post(url, run="r", name="micro_batch", to=8)
        assert (again.status, again.json()["error"]["code"]) == (409, "refused")
        run.answer()
        late = await post(f"{url}/{made['id']}/veto")
        error = late.json()["error"]
        assert (late.status, error.get("hint", "")) == (409, "")  # the message has the state already
        assert f"{made['id']} is applied" in error["what"]
        assert (await post(f"{url}/{made['id']}/approve")).status == 409
        assert (await fetch(f"{url}/{made['id']}")).json()["state"] == "applied"


async def test_only_operators_decide(tmp_path: Path) -> None:
    """A viewer sees everything and changes nothing; decisions have the name of the token."""
    viewer, viewer_line = new_token(Role.VIEWER, "vera")
    operator, operator_line = new_token(Role.OPERATOR, "otto")
    (tmp_path / "tokens").write_text(f"{viewer_line}\n{operator_line}\n")
    run = await AdjustableTraining(tokens=TokensFile(tmp_path / "tokens")).begin()
    run.play(30)
    seen, may = {"Authorization": f"Bearer {viewer}"}, {"Authorization": f"Bearer {operator}"}
    async with serving(run.parts) as base:
        url = f"{base}/api/v1"
        proposed = run.propose()
        logged: list[str] = []
        bodies: tuple[tuple[str, dict[str, Any]], ...] = (
            ("adjustments", {"run": "r", "name": "workers", "to": 4}),
            *((f"adjustments/{proposed.id}/{action}", {}) for action in ("approve", "veto", "undo")),
            ("policy", {"run": "r", "policy": "off"}),
            ("runs/r/policy", {"policy": "off"}),
        )
        for path, body in bodies:
            with capture_logs() as lines:
                answer = await post(f"{url}/{path}", seen, **body)
            logged += [f"{each['event']} {each['by']}" for each in lines if "by" in each]
            assert answer.status == 403, path
            assert answer.json()["error"]["what"] == "vera has the role viewer; the role operator is required"
            assert (await post(f"{url}/{path}", {}, **body)).status == 401, path
        assert logged == ["request_not_allowed vera"] * len(bodies)
        assert not (await fetch(f"{url}/values?run=r", headers=seen)).json()["may_change"]
        assert (await fetch(f"{url}/values?run=r", headers=may)).json()["may_change"]
        unchanged = (await fetch(f"{url}/adjustments/{proposed.id}", headers=seen)).json()
        assert (unchanged["state"], [each["who"] for each in unchanged["decisions"]]) == ("proposed", ["flyball"])
        approved = (await post(f"{url}/adjustments/{proposed.id}/approve", may, why="now")).json()
    assert [(each["what"], each["who"], each["why"]) for each in approved["decisions"]][1] == ("approve", "otto", "now")
    offered = next(each for each in run.parts.timeline.recent() if each.kind == "adjustment_offered")
    assert ", approved by otto" in offered.because


async def test_the_values_of_a_run_show_what_can_change() -> None:
    """Also for names with slashes: value, choices, class, and why one is blocked; ranks that differ are listed."""
    run = await AdjustableTraining("team/r").begin()
    run.play(3)
    run.value["workers"] = 8
    run.governor.take("b", pb.AgentAdjust(able=run.able(3)))
    async with serving(run.parts) as base:
        found = (await fetch(f"{base}/api/v1/values?run=team/r", headers=OPERATOR)).json()
        assert (await fetch(f"{base}/api/v1/values?run=nobody")).status == 404
        assert (await fetch(f"{base}/api/v1/runs/nobody/values")).status == 404
        by_path = (await fetch(f"{base}/api/v1/runs/team%2Fr/values", headers=OPERATOR)).json()
        assert by_path["values"] == found["values"]
        assert (await post(f"{base}/api/v1/runs/team%2Fr/policy", policy="ask")).json()["run"] == "team/r"
        assert (await post(f"{base}/api/v1/runs/team%2Fr", policy="ask")).status == 405
    facts = ("policy", "limit", "requested_policy", "complete", "register", "world_size", "may_change")
    assert [found[name] for name in facts] == ["ask", "auto", "ask", True, "c10d", 4, True]
    by_name = {each["name"]: each for each in found["values"]}
    assert (by_name["micro_batch"]["value"], by_name["micro_batch"]["choices"]) == (16, [1, 2, 4, 8, 16, 32])
    assert by_name["micro_batch"]["safety_meaning"] == "equal results up to rounding"
    assert (by_name["workers"]["value"], by_name["workers"]["different"]) == (
        None, [{"value": 2, "ranks": [0, 1, 2], "number": 3}, {"value": 8, "ranks": [3], "number": 1}]
    )  # fmt: skip
    assert by_name["compiled"]["blocked"] == [{"reason": "compiled", "ranks": [0, 1, 2, 3], "number": 4}]


async def test_the_policy_of_a_run_is_set_within_the_limit() -> None:
    """The answer has what is in force, and the timeline who set it."""
    settings = AdjustmentsSettings(enabled=True, policy="ask")
    run = await AdjustableTraining(settings=settings).begin(policy="ask")
    async with serving(run.parts) as base:
        more = (await post(f"{base}/api/v1/policy", run="r", policy="auto", why="trusted")).json()
        assert (more["policy"], more["limit"]) == ("ask", "ask")
        run.play(1)
        off = (await post(f"{base}/api/v1/runs/r/policy", policy="off")).json()
        assert off["policy"] == "off"
        refused = await post(f"{base}/api/v1/adjustments", run="r", name="workers", to=4)
        assert (refused.status, "off" in refused.json()["error"]["what"]) == (409, True)
        values = (await fetch(f"{base}/api/v1/runs/r/values")).json()
    assert (values["policy"], values["policy_set"]["policy"], values["policy_set"]["who"]) == (
        "off", "off", "a local user"
    )  # fmt: skip
    texts = [each.because for each in run.parts.timeline.recent() if each.kind == "adjustment_decided"]
    assert texts == [
        "a local user set the policy to off",
        "a local user set the policy to auto (limited to ask by adjustments.policy): trusted",
    ]


async def test_values_that_nobody_can_change_have_the_reason() -> None:
    """The operator has disabled the lever, or ranks have not declared it, as on a host whose agent allows none."""
    settings = AdjustmentsSettings(enabled=True, policy="auto", disabled_levers=("workers",))
    run = await AdjustableTraining(settings=settings).begin()
    async with serving(run.parts) as base:
        first = (await fetch(f"{base}/api/v1/values?run=r")).json()
        run.governor.host_lost("b")
        then = (await fetch(f"{base}/api/v1/values?run=r")).json()
        refused = await post(f"{base}/api/v1/adjustments", run="r", name="micro_batch", to=8)
    disabled = "the operator has disabled the lever workers"
    assert [each["refused"] for each in first["values"]] == ["", "", disabled]
    assert (first["missing_ranks"], then["missing_ranks"]) == ([], [2, 3])
    assert [each["refused"] for each in then["values"]] == ["not declared by ranks 2, 3"] * 2 + [disabled]
    assert "ranks 2, 3 declare no adjustable values" in refused.json()["error"]["what"]


async def test_the_policy_is_set_while_the_hosts_of_a_run_are_away() -> None:
    """An operator who wants no more changes need not wait until the agents are back."""
    run = await AdjustableTraining().begin()
    run.play(30)
    run.propose()
    for host in RANKS:
        run.governor.host_lost(host)
    async with serving(run.parts) as base:
        assert (await post(f"{base}/api/v1/policy", run="r", policy="off")).json()["policy"] == "off"
    run.declare()
    assert run.governor.policy("r") == "off"


async def test_a_decision_is_listed_before_what_follows_from_it() -> None:
    """Both have the same time, and the decision comes first, so that a reader sees the cause before the effect."""
    run = await AdjustableTraining().begin()
    run.play(30)
    async with serving(run.parts) as base:
        await post(f"{base}/api/v1/adjustments", run="r", name="micro_batch", to=8, why="try")
        found = (await fetch(f"{base}/api/v1/events?run=r&order=oldest")).json()["events"]
    assert [each["kind"] for each in found if each["kind"].startswith("adjustment_")] == [
        "adjustment_decided", "adjustment_offered"
    ]  # fmt: skip


async def test_a_collector_without_adjustments_explains_how_to_allow_them() -> None:
    """Reading gives an empty list and `enabled: false`; changing is refused. That holds with a governor or without."""
    run = await AdjustableTraining(settings=AdjustmentsSettings()).begin()
    for parts in (replace(make_parts(), fleet=run.parts.fleet), run.parts):
        async with serving(parts) as base:
            listed = (await fetch(f"{base}/api/v1/adjustments")).json()
            assert (listed["adjustments"], listed["enabled"]) == ([], False)
            values = (await fetch(f"{base}/api/v1/values?run=r")).json()
            assert (values["enabled"], values["policy"], values["limit"]) == (False, "off", "off")
            for path, body in (
                ("adjustments", {"run": "r", "name": "workers", "to": 4}),
                ("adjustments/9f2a/approve", {}),
                ("policy", {"run": "r", "policy": "ask"}),
            ):
                answer = await post(f"{base}/api/v1/{path}", **body)
                assert (answer.status, answer.json()["error"]["code"]) == (409, "adjustments_off")
                assert "adjustments.enabled" in answer.json()["error"]["hint"]


async def test_a_rank_that_vetoes_ends_the_change_for_all() -> None:
    """Its reason is in the answer and in the timeline."""
    run = await AdjustableTraining().begin()
    run.play(30)
    run.vetoes = {2: "batch_norm"}
    async with serving(run.parts) as base:
        made = (await post(f"{base}/api/v1/adjustments", run="r", name="micro_batch", to=8)).json()
        run.answer()
        vetoed = (await fetch(f"{base}/api/v1/adjustments/{made['id']}")).json()
        hosts = (await fetch(f"{base}/api/v1/adjustments?host=c")).json()
    assert (vetoed["state"], "batch_norm" in vetoed["reason"], run.value["micro_batch"]) == ("vetoed", True, 16)
    assert hosts["adjustments"] == []
    refused = next(each for each in run.parts.timeline.recent() if each.kind == "adjustment_refused")
    assert "batch_norm" in refused.because


def test_a_list_has_few_answers_of_many_ranks() -> None:
    """Those that differ are kept, in the order of ranks; the numbers are complete."""
    answers = {str(rank): RankAnswer(verdict="prepared") for rank in range(1024)}
    answers |= {rank: RankAnswer(verdict="veto", reason="busy") for rank in ("1000", "7")}
    adjustment = some_adjustment(answers=answers, ranks=1024)
    listed = adjustment_answer(adjustment)
    assert listed.verdicts == {"prepared": 1022, "veto": 2}
    assert len(listed.answers) == MOST_ANSWERS
    assert [each.rank for each in listed.answers][-2:] == ["14", "1000"]
    assert len(adjustment_answer(adjustment, 1024).answers) == 1024


async def test_the_description_of_the_api_has_all_routes() -> None:
    """Each has a summary; those that change something are POST requests."""
    async with serving(make_parts()) as base:
        paths = (await fetch(f"{base}/openapi.json")).json()["paths"]
    expected = {
        "adjustments": {"get", "post"}, "adjustments/{id}": {"get"}, "values": {"get"}, "policy": {"post"},
        "runs/{name}/values": {"get"}, "runs/{name}/policy": {"post"},
        **{f"adjustments/{{id}}/{action}": {"post"} for action in ("approve", "veto", "undo")},
    }  # fmt: skip
    assert {path: set(paths[f"/api/v1/{path}"]) for path in expected} == expected
