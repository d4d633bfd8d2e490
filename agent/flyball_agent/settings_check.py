"""Checks settings against each other: what the types of single keys cannot express."""

from pathlib import Path

import msgspec

from flyball_agent.accelerators.catalogue import build_accelerator_probes
from flyball_agent.memory_kills.memory_kill_probe import MemoryKillProbe
from flyball_agent.probes.catalogue import linux_probes, portable_probes
from flyball_agent.probes.host_root import is_elsewhere
from flyball_agent.probes.round_trip import BadTarget, parse_target
from flyball_agent.runs.tenancy_probe import TenancyProbe
from flyball_agent.settings import AgentSettings, interval_ms
from flyball_daemon.settings import SettingsError
from flyball_daemon.suggestion import did_you_mean

MINUTE_MS = 60_000


def check_settings(settings: AgentSettings) -> None:
    """Raise `SettingsError` if the settings cannot be used, although each value is valid."""
    problem = _first_problem(settings)
    if problem:
        raise SettingsError([problem])


def _first_problem(settings: AgentSettings) -> str:
    if MINUTE_MS % interval_ms(settings):
        return (
            f"interval_seconds = {settings.interval_seconds:g}: expected a divisor of a minute "
            "(0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10, 15, 20, 30, 60 …)"
        )
    if problem := _problem_of_root(settings):
        return problem
    if not settings.collector:
        return "collector: expected at least one address, such as collector.example.org:3590"
    for address in settings.collector:
        if not address.rpartition(":")[2].isdigit():
            return f"collector = {address!r}: expected host:port, such as collector.example.org:3590"
    tls = settings.tls
    if any((tls.ca_file, tls.certificate_file, tls.key_file)) and not all(
        (tls.ca_file, tls.certificate_file, tls.key_file)
    ):
        return "tls: set all three of ca_file, certificate_file and key_file, or none of them"
    try:
        for target in settings.probes.latency_targets:
            parse_target(target)
    except BadTarget as error:
        return f"probes.latency_targets: {error}"
    return _problem_of_disabled(settings) if settings.probes.disabled else ""


def _problem_of_root(settings: AgentSettings) -> str:
    """Without the host's procfs the probes would show the container instead of the host."""
    root = Path(settings.root)
    if not root.is_absolute():
        return f"root = {settings.root!r}: expected an absolute path, such as /host"
    if is_elsewhere(root) and not (Path(settings.proc_root) / "stat").is_file():
        return (
            f"root = {settings.root!r}: there is no procfs at {settings.proc_root}. Mount the host's root at "
            f"{settings.root} together with the file systems below it, or set proc_root and sys_root."
        )
    return ""


def _problem_of_disabled(settings: AgentSettings) -> str:
    """Reject unknown names, because a probe with a misspelt name would keep running without notice."""
    all_probes = msgspec.structs.replace(settings.probes, disabled=(), latency_targets=(), processes=True)
    bare = msgspec.structs.replace(settings, probes=all_probes)
    everywhere = [*linux_probes(bare), *portable_probes(bare), *build_accelerator_probes(bare)]
    known = list(dict.fromkeys(probe.name for probe in everywhere))  # the same file may be used on different hosts
    known += (TenancyProbe.name, MemoryKillProbe.name)
    for name in settings.probes.disabled:
        if name not in known:
            hint = did_you_mean(name, known) or f"the probes are {', '.join(known)}"
            return f"probes.disabled: there is no probe {name!r}; {hint}"
    return ""
