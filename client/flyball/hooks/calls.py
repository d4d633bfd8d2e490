"""Counts the requests that a training sends over HTTP, and the time that it waits for their answers."""

from __future__ import annotations

from flyball.hooks.patching import leave_out_caller, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from flyball.hooks.steps import OptimizerSteps


def install(client: Any, steps: OptimizerSteps) -> None:
    """Measure http.client, on which urllib, requests, urllib3 and boto3 are built."""
    connection = client.HTTPConnection
    replace(connection, "send", lambda original: measure_sending(original, steps))
    replace(connection, "getresponse", lambda original: measure_answer(original, steps))


def measure_sending(original: Callable[..., Any], steps: OptimizerSteps) -> Callable[..., Any]:
    """Return a method that sends the same. It connects first, if that was not done; both count as waiting."""

    def send(self: Any, *args: Any, **kwargs: Any) -> Any:
        run = steps.measured_run()
        try:
            if run is None:
                return original(self, *args, **kwargs)
            with run.section(run.section_of(_service(self))):
                return original(self, *args, **kwargs)
        except BaseException as error:
            leave_out_caller(error)
            raise

    return send


def measure_answer(original: Callable[..., Any], steps: OptimizerSteps) -> Callable[..., Any]:
    """Return a method that gives the same answer. Each is one call."""

    def getresponse(self: Any, *args: Any, **kwargs: Any) -> Any:
        run = steps.measured_run()
        try:
            if run is None:
                return original(self, *args, **kwargs)
            with run.call(_service(self)):
                return original(self, *args, **kwargs)
        except BaseException as error:
            leave_out_caller(error)
            raise

    return getresponse


def _service(connection: Any) -> str:
    return f"{connection.host}:{connection.port}"
