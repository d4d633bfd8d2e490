"""Adjustments: what was changed in running trainings, why and with what effect; and what people decide about them."""

from typing import Annotated, Literal

import structlog
from litestar import Request, get, post
from litestar.datastructures import State
from litestar.params import JSONBody, PathParameter, QueryParameter

from flyball_collector.adjustments.adjustment import IN_PROGRESS, Adjustment, AdjustmentState
from flyball_collector.adjustments.declared.ranks import RunValues
from flyball_collector.adjustments.governor.refusal import AdjustmentRefused
from flyball_collector.adjustments.shown.timeline_notes import decision_note
from flyball_collector.adjustments.shown.wording import change_text
from flyball_collector.adjustments.values import value_text
from flyball_collector.captures.capture import clean_text
from flyball_collector.http.adjustment_answers import (
    AdjustmentAnswer,
    AdjustmentsAnswer,
    PolicyAnswer,
    adjustment_answer,
)
from flyball_collector.http.adjustment_requests import (
    DecisionReason,
    NamedPolicyRequest,
    NewAdjustment,
    PolicyRequest,
)
from flyball_collector.http.adjustment_source import AdjustmentSource
from flyball_collector.http.collector_parts import CollectorParts, PartsDependency
from flyball_collector.http.errors import ApiError, bad_value, near
from flyball_collector.http.guard import is_operator, token_name
from flyball_collector.http.run_lookup import POLICY, find_run, name_in_path
from flyball_collector.http.run_values import RunValuesAnswer, adjustments_enabled, run_values
from flyball_collector.security.tokens import Role

_log = structlog.stdlib.get_logger(__name__)

_OPERATOR = {"role": Role.OPERATOR}
_IN_PROGRESS = "in_progress"
_EXAMINED = 5000

AnyRequest = Request[object, object, State]
AdjustmentId = Annotated[str, PathParameter(max_length=64, description="Id of an adjustment.")]
RunInPath = Annotated[str, PathParameter(max_length=1024, description="Name of a run. Quote slashes in it as %2F.")]
StateName = Literal[
    "", "in_progress", "proposed", "offered", "committed", "applied", "kept", "rolled_back", "undone", "vetoed",
    "aborted", "expired", "withdrawn", "failed",
]  # fmt: skip


@get("/adjustments", summary="Adjustments")
async def list_adjustments(
    request: AnyRequest,
    parts: PartsDependency,
    run: Annotated[str, QueryParameter(max_length=1024, description="Only this run.")] = "",
    host: Annotated[str, QueryParameter(max_length=255, description="Only those with ranks on this host.")] = "",
    state_name: Annotated[
        StateName, QueryParameter(name="state", description="Only this state, or all that are `in_progress`.")
    ] = "",
    limit: Annotated[int, QueryParameter(ge=1, le=1000)] = 100,
) -> AdjustmentsAnswer:
    """List adjustments of running trainings, the newest first. They are kept for `store.events_days`.

    States: proposed (waits for a person), offered (to the ranks), committed (all ranks are prepared), applied (its
    effect is being measured); kept, rolled_back (it did harm), undone (a person took it back), vetoed, aborted (at its
    step), expired, withdrawn, failed.
    """
    found = _find(parts.adjustments, run, host, state_name, limit + 1) if parts.adjustments is not None else []
    return AdjustmentsAnswer(
        adjustments=[adjustment_answer(each) for each in found[:limit]],
        more=len(found) > limit,
        enabled=adjustments_enabled(parts),
        may_change=is_operator(request),
    )


@get("/adjustments/{id:str}", summary="One adjustment")
async def show_adjustment(parts: PartsDependency, id: AdjustmentId) -> AdjustmentAnswer:  # noqa: A002  the name in the path
    """Return an adjustment with the answers of its ranks, all decisions, and its measured effect."""
    adjustment = _known(parts, id)
    return adjustment_answer(adjustment, most_answers=len(adjustment.answers))


@post("/adjustments", summary="Change a value of a run", opt=_OPERATOR)
async def propose_adjustment(
    request: AnyRequest, parts: PartsDependency, data: JSONBody[NewAdjustment]
) -> AdjustmentAnswer:
    """Offer a change to all ranks of a run. All of them make it at the same step, or none does.

    The answer comes at once. `GET /adjustments/{id}` shows the progress.
    """
    governor, who, why = _governor(parts), _who(request), clean_text(data.why)
    _check_value(data, _values_of(parts, governor, data.run))
    try:
        adjustment = governor.propose(data.run, data.name, data.to, who=who, why=why)
    except AdjustmentRefused as error:
        raise _refusal(error, None) from None
    _note(parts, adjustment.run, who, f"asked for {change_text(adjustment)}", why, adjustment)
    return adjustment_answer(adjustment)


@post("/adjustments/{id:str}/approve", summary="Approve an adjustment", status_code=200, opt=_OPERATOR)
async def approve_adjustment(
    request: AnyRequest,
    parts: PartsDependency,
    id: AdjustmentId,  # noqa: A002  the name in the path
    data: JSONBody[DecisionReason],
) -> AdjustmentAnswer:
    """Approve an adjustment that waits for a person. It is offered to the ranks at once."""
    return _decide(request, parts, id, "approve", data.why)


@post("/adjustments/{id:str}/veto", summary="Veto an adjustment", status_code=200, opt=_OPERATOR)
async def veto_adjustment(
    request: AnyRequest,
    parts: PartsDependency,
    id: AdjustmentId,  # noqa: A002  the name in the path
    data: JSONBody[DecisionReason],
) -> AdjustmentAnswer:
    """End an adjustment that is not applied yet. No rank changes anything."""
    return _decide(request, parts, id, "veto", data.why)


@post("/adjustments/{id:str}/undo", summary="Take an adjustment back", status_code=200, opt=_OPERATOR)
async def undo_adjustment(
    request: AnyRequest,
    parts: PartsDependency,
    id: AdjustmentId,  # noqa: A002  the name in the path
    data: JSONBody[DecisionReason],
) -> AdjustmentAnswer:
    """Offer the inverse of an adjustment that was applied. The answer is the inverse."""
    return _decide(request, parts, id, "undo", data.why)


@get("/values", summary="Adjustable values of a run, by a name of any form")
async def show_named_values(
    request: AnyRequest,
    parts: PartsDependency,
    run: Annotated[str, QueryParameter(max_length=1024, description="Name of a run.")],
) -> RunValuesAnswer:
    """Return the values that the ranks of a run can change, its policy, and its newest adjustments."""
    return run_values(parts, run, may_change=is_operator(request))


@get("/runs/{name:str}/values", summary="Adjustable values of a run")
async def show_values(request: AnyRequest, parts: PartsDependency, name: RunInPath) -> RunValuesAnswer:
    """Return the same as `/values`. Quote slashes in the name."""
    return run_values(parts, name, may_change=is_operator(request))


@post("/policy", summary="Set the policy of a run, by a name of any form", status_code=200, opt=_OPERATOR)
async def set_named_policy(
    request: AnyRequest, parts: PartsDependency, data: JSONBody[NamedPolicyRequest]
) -> PolicyAnswer:
    """Set the policy: off (nothing is changed), ask (a person approves), auto. The settings limit it."""
    return _set_policy(request, parts, data.run, data.policy, data.why)


@post("/runs/{name:str}/policy", summary="Set the policy of a run", status_code=200, opt=_OPERATOR)
async def set_policy(
    request: AnyRequest, parts: PartsDependency, name: RunInPath, data: JSONBody[PolicyRequest]
) -> PolicyAnswer:
    """Set the policy as `/policy` does."""
    return _set_policy(request, parts, name, data.policy, data.why)


@post("/runs/{path:path}", include_in_schema=False, status_code=200, opt=_OPERATOR)
async def set_policy_by_path(
    request: AnyRequest,
    parts: PartsDependency,
    path: Annotated[str, PathParameter(max_length=1024)],
    data: JSONBody[PolicyRequest],
) -> PolicyAnswer:
    """Answer for the route above, which describes it: the framework divides names even at quoted slashes."""
    name, part = name_in_path(request.scope["raw_path"].decode("latin-1"), path)
    if part != POLICY:
        raise ApiError(405, "method_not_allowed", "a run is only read", "GET /openapi.json lists all methods")
    return _set_policy(request, parts, name, data.policy, data.why)


def _find(source: AdjustmentSource, run: str, host: str, state: str, limit: int) -> list[Adjustment]:
    if state != _IN_PROGRESS:
        return source.find(run=run, host=host, state=state, limit=limit)
    states = [each for each in AdjustmentState if each in IN_PROGRESS]
    found = [each for name in states for each in source.find(run=run, host=host, state=name.value, limit=_EXAMINED)]
    return sorted(found, key=lambda each: each.created_ns, reverse=True)[:limit]


def _set_policy(request: AnyRequest, parts: CollectorParts, run: str, policy: str, why: str) -> PolicyAnswer:
    governor, who, reason = _governor(parts), _who(request), clean_text(why)
    if governor.values(run) is None and not governor.find(run=run, limit=1):  # its past is enough: ranks may be away
        _values_of(parts, governor, run)
    try:
        in_force = governor.set_policy(run, policy, who, reason)
    except AdjustmentRefused as error:
        raise _refusal(error, None) from None
    limited = f" (limited to {in_force} by adjustments.policy)" if in_force != policy else ""
    _note(parts, run, who, f"set the policy to {policy}{limited}", reason)
    return PolicyAnswer(run=run, policy=in_force, limit=parts.settings.adjustments.policy)


def _decide(request: AnyRequest, parts: CollectorParts, id_: str, action: str, reason: str) -> AdjustmentAnswer:
    governor, who, why = _governor(parts), _who(request), clean_text(reason)
    adjustment = _known(parts, id_)
    calls = {"approve": governor.approve, "veto": governor.veto, "undo": governor.undo}
    try:
        changed = calls[action](id_, who, why)
    except AdjustmentRefused as error:
        raise _refusal(error, governor.get(id_)) from None
    words = {"approve": "approved", "veto": "vetoed", "undo": "took back"}[action]
    _note(parts, adjustment.run, who, f"{words} {change_text(adjustment)}", why, changed)
    return adjustment_answer(changed)


def _governor(parts: CollectorParts) -> AdjustmentSource:
    if parts.adjustments is None or not adjustments_enabled(parts):
        hint = (
            "set adjustments.enabled in the settings of the collector and of the agents, and restart them; "
            "on your own machine: flyball up --adjust"
        )
        raise ApiError(409, "adjustments_off", "adjustments are off on this collector", hint)
    return parts.adjustments


def _known(parts: CollectorParts, id_: str) -> Adjustment:
    found = parts.adjustments.get(id_) if parts.adjustments is not None else None
    if found is None:
        raise _unknown(f"no adjustment with the id {id_[:64]!r}")
    return found


def _unknown(what: str) -> ApiError:
    return ApiError(404, "unknown_adjustment", what, "GET /api/v1/adjustments lists them")


def _values_of(parts: CollectorParts, governor: AdjustmentSource, run: str) -> RunValues:
    values = governor.values(run)
    if values is None:
        find_run(parts, run)
        what = f"run {run[:100]!r} has no adjustable values now"
        hint = "its script must declare them with a policy other than off, and its hosts' agents must allow adjustments"
        raise ApiError(409, "no_values", what, hint)
    return values


def _check_value(data: NewAdjustment, values: RunValues) -> None:
    """Raise an error for a name that no rank has declared, and for a value that is not a choice."""
    value = values.value(data.name)
    if value is None:
        known = list(values.names)
        hint = near(data.name, known, "GET /api/v1/values?run=RUN")
        raise ApiError(404, "unknown_value", f"run {values.run[:100]!r} has no value {data.name!r}", hint)
    if not value.allows(data.to):
        expected = ", ".join(map(value_text, value.choices)) or f"a value like {value_text(value.value)}"
        raise bad_value("to", f"{value_text(data.to)} is not a choice of {data.name}", f"expected {expected} (JSON)")


def _refusal(error: AdjustmentRefused, adjustment: Adjustment | None) -> ApiError:
    """Return the error for a request that the governor refuses. An answer that comes too late shows the state."""
    if error.kind == "unknown":
        return _unknown(str(error))
    if error.kind == "invalid":
        return ApiError(400, "bad_value", str(error))
    is_named = adjustment is None or f"is {adjustment.state.value}" in str(error)
    state = "" if adjustment is None or is_named else f"the state of {adjustment.id} is {adjustment.state.value}"
    return ApiError(409, "refused", str(error), state)


def _who(request: AnyRequest) -> str:
    return token_name(request) or "a local user"


def _note(parts: CollectorParts, run: str, who: str, text: str, why: str, changed: Adjustment | None = None) -> None:
    """Add to the timeline who decided what. It has the time of what followed, so that it is listed before that."""
    reason = f": {why}" if why else ""
    time_ns, about = (parts.clock(), "policy") if changed is None else (changed.changed_ns, changed.id)
    entry = parts.timeline.add(decision_note(run, who, f"{text}{reason}", time_ns, about))
    parts.own_metrics.events.labels(entry.kind, entry.state).inc()
    _log.info("adjustment_decided", by=who, run=run, decision=text, about=about)


ROUTES = (
    list_adjustments,
    show_adjustment,
    propose_adjustment,
    approve_adjustment,
    veto_adjustment,
    undo_adjustment,
    show_named_values,
    show_values,
    set_named_policy,
    set_policy,
    set_policy_by_path,
)
