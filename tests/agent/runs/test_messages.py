"""Messages of clients: the fields that clients of today add, and what older clients and odd ones send."""

import json

import pytest

from flyball_agent.runs.messages import BadLine, Hello, StepsMessage, decode, labels_of

OLD_HELLO = {"kind": "hello", "run": "r", "rank": 1, "world_size": 2, "total_steps": 10}
OLD_STEPS = {"kind": "steps", "step": 3, "steps": 1, "step_seconds": 0.5}


def hello(**more: object) -> Hello:
    message = decode(json.dumps(OLD_HELLO | more).encode())
    assert isinstance(message, Hello)
    return message


def steps(**more: object) -> StepsMessage:
    message = decode(json.dumps(OLD_STEPS | more).encode())
    assert isinstance(message, StepsMessage)
    return message


def test_the_new_fields_of_a_hello_are_read() -> None:
    """Attempt, group, number of samples, policy and version of the client."""
    found = hello(attempt=2, group="slurm-9", total_samples=1e5, policy="auto", client="0.2.0")
    assert (found.attempt, found.group, found.policy, found.client) == (2, "slurm-9", "auto", "0.2.0")
    assert labels_of(found) == {"total_steps": "10", "total_samples": "100000"}


def test_an_older_client_has_none_of_them() -> None:
    """They are unknown, and so are fields that a client sends as null."""
    unknown = dict.fromkeys(("attempt", "group", "total_samples", "policy", "client"))
    assert hello() == hello(**unknown)
    assert hello().attempt is None
    assert labels_of(hello()) == {"total_steps": "10"}
    assert steps() == steps(device_seconds=None, dropped=None, oom_retries=None, paused_seconds=None)
    assert (steps().calls, steps().dropped) == ([], None)


def test_the_calls_of_a_report_are_read() -> None:
    """Each has a service and a count; time and errors may be unknown."""
    message = steps(calls=[{"service": "kato", "count": 3, "seconds": 0.5, "errors": 1}, {"service": "x", "count": 1}])
    assert [(call.service, call.count, call.seconds, call.errors) for call in message.calls] == [
        ("kato", 3, 0.5, 1),
        ("x", 1, None, 0),
    ]


def test_an_unknown_number_in_calls_is_unknown() -> None:
    """NaN, which Python writes, is neither a time of calls nor one of the device."""
    message = steps(calls=[{"service": "kato", "count": 3, "seconds": float("nan")}], device_seconds=float("nan"))
    assert message.calls[0].seconds is None
    assert message.device_seconds is None


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"calls": [{"count": 1}]}, "calls[0].service: expected this field"),
        ({"calls": [{"service": "", "count": 1}]}, "service: expected str of length >= 1"),
        ({"calls": [{"service": "x", "count": -1}]}, "count: expected int >= 0"),
        ({"calls": [{"service": "x", "count": 1, "errors": -1}]}, "errors: expected int >= 0"),
        ({"calls": [{"service": str(n), "count": 1} for n in range(33)]}, "calls: expected array of length <= 32"),
        ({"device_seconds": -1.0}, "device_seconds: expected float >= 0.0"),
        ({"dropped": -1}, "dropped: expected int >= 0"),
        ({"oom_retries": -1}, "oom_retries: expected int >= 0"),
        ({"paused_seconds": -0.1}, "paused_seconds: expected float >= 0.0"),
        ({"throttled_seconds": "x"}, "throttled_seconds: expected float"),
    ],
)
def test_a_wrong_field_of_steps_is_named(fields: dict[str, object], expected: str) -> None:
    """The error has the field and what was expected."""
    with pytest.raises(BadLine, match=r"^steps: .*") as error:
        steps(**fields)
    assert expected in str(error.value)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"attempt": -1}, "hello: attempt: expected int >= 0"),
        ({"attempt": 2**31}, "hello: attempt: expected int <"),
        ({"group": "x" * 201}, "hello: group: expected str of length <= 200"),
        ({"total_samples": -5}, "hello: total_samples: expected int >= 0"),
    ],
)
def test_a_wrong_field_of_a_hello_is_named(fields: dict[str, object], expected: str) -> None:
    """The error has the field and what was expected."""
    with pytest.raises(BadLine) as error:
        hello(**fields)
    assert expected in str(error.value)
