"""`flyball.run`: opens a run in a training script."""

from __future__ import annotations

import os
import sys
from time import perf_counter_ns

from flyball.training import fork
from flyball.training.agent_link import AgentLink
from flyball.training.agent_socket import candidates
from flyball.training.identity import all_labels, identify, script_name
from flyball.training.introduction import Introduction
from flyball.training.reporter import Reporter
from flyball.training.run import Run
from flyball.training.texts import clean, whole_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeVar

    Value = TypeVar("Value")

CLIENT = "flyball 0.1.0"
"""The version of the package. Looking it up in the package's metadata takes longer than the whole import."""

POLICY = "FLYBALL_POLICY"
"""The variable with the policy that `flyball run --policy` has for the runs of its command."""

_POLICIES = ("off", "ask", "auto")


def run(
    name: str | None = None,
    *,
    total_steps: int | None = None,
    total_samples: int | None = None,
    labels: Mapping[str, object] | None = None,
    rank: int | None = None,
    world_size: int | None = None,
    policy: str = "ask",
) -> Run:
    """Open a run: one rank of a training that reports to the agent of this host, if there is one.

    Rank and world size come from the launcher or scheduler unless they are passed. `policy` is which adjustments the
    training accepts: `off`, `ask` (a person approves each) or `auto`; anything else counts as `off`, with a warning.
    `flyball run --policy` replaces it, unless it is `off`. Values that are not valid are dropped and counted in
    `Run.dropped`; nothing is raised.
    """
    faults: list[Exception] = []
    identity = _valid(lambda: identify(os.environ, rank, world_size), faults) or identify({})
    cleaned = "" if name is None else _valid(lambda: clean(name), faults) or ""
    chosen = cleaned or script_name(os.environ, _main_file())
    found_labels, dropped = _valid(lambda: all_labels(labels or {}, os.environ), faults) or ({}, 0)
    steps = _valid(lambda: whole_number(total_steps), faults)
    samples = _valid(lambda: whole_number(total_samples), faults)
    dropped += sum(
        [given is not None and found is None for given, found in ((total_steps, steps), (total_samples, samples))]
    )
    dropped += name is not None and (not isinstance(name, str) or cleaned != name)
    chosen_policy = _policy(policy, os.environ.get(POLICY))
    if chosen_policy is None:
        dropped += 1
        _warn_of_policy(policy)
    introduction = Introduction(
        chosen,
        identity,
        total_steps=steps,
        total_samples=samples,
        labels=found_labels,
        policy=chosen_policy or "off",  # a word that is not understood must not allow more than its author wanted
        client=CLIENT,
    )
    opened = Run(introduction, Reporter(AgentLink(candidates), perf_counter_ns()), dropped + len(faults))
    fork.add(opened)
    if os.environ.get("FLYBALL_STACKS") == "1":
        opened.enable_stacks()
    return opened


def _policy(of_script: object, of_command: str | None) -> str | None:
    """Return the policy in force. None: a word of either is not known. Only `off` in the script cannot be replaced."""
    if not isinstance(of_script, str) or of_script not in _POLICIES:
        return None
    if of_command is None or of_script == "off":
        return of_script
    return of_command if of_command in _POLICIES else None


def _warn_of_policy(policy: object) -> None:
    """Warn at the line that opened the run. Where warnings are errors, the training still goes on."""
    import warnings

    try:
        given = f"{POLICY}={os.environ.get(POLICY)!r}" if policy in _POLICIES else f"policy={policy!r}"
        text = f"flyball: {given}: expected off, ask or auto. This run cannot be adjusted."
        warnings.warn(text, stacklevel=3)
    except Exception:  # noqa: BLE001  it must not reach the training
        return


def _valid(evaluate: Callable[[], Value], faults: list[Exception]) -> Value | None:
    """Return what the caller passed, in its valid form; None if it has none."""
    try:
        return evaluate()
    except Exception as error:  # noqa: BLE001  it must not reach the training
        faults.append(error)
        return None


def _main_file() -> str:
    main = sys.modules.get("__main__")
    return str(getattr(main, "__file__", None) or (sys.argv[0] if sys.argv else ""))


def current_run() -> Run | None:
    """Return the newest open run of this process."""
    found = fork.newest_run()
    return found if isinstance(found, Run) else None
