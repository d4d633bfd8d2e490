"""A collector and its agents on this machine, as children of one command, in one directory."""

import contextlib
import fcntl
import hashlib
import json
import os
import signal
import socket
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from rich.console import Console

from flyball.command.children import Child
from flyball.command.errors import CommandError
from flyball.command.first_screen import Answer, Places, first_screen
from flyball.extras import advice, missing

_TEND_SECONDS = 0.25
_FIRST_RECORD_SECONDS = 60.0
_GIVE_UP_DEATHS = 3
_CALLED_WRONGLY = 2  # the daemons' exit status for settings that cannot be used: trying again is of no use
_AGENT_STOP_SECONDS = 8.0
_COLLECTOR_STOP_SECONDS = 15.0
_SOCKET_PATH_BYTES = 100  # the kernel takes 107
_DEFAULT_HTTP_PORT = 3591

_SETTINGS = """\
# Settings of the {daemon} that `flyball {command}` starts here; every key is in docs/configuration.md.
# Ports, store and paths are given on its command line and win over this file.
"""


@dataclass(frozen=True, slots=True)
class AgentPlan:
    """One agent to start; more than one only for demonstrations."""

    folder: str
    settings: Mapping[str, object] = field(default_factory=dict)
    training: Sequence[
        str
    ] = ()  # of a stand-in training that reports to it: run, ranks, the slow one, its GPUs' folder


@dataclass(frozen=True, slots=True)
class LocalPlan:
    """What to run where."""

    command: str  # up or demo
    directory: Path
    grpc_port: int
    http_port: int
    agents: Sequence[AgentPlan]
    note: str = ""  # said below the first screen

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http_port}"


class _Stop(Exception):
    """Somebody wants it to end."""


def run(plan: LocalPlan, console: Console) -> None:
    """Start everything, show the first screen, keep it running until Ctrl-C, end it in order."""
    for part in ("agent", "collector"):
        if absent := missing(part):
            raise CommandError(advice(f"flyball {plan.command}", "all", absent))
    with _lock(plan.directory, plan.command), _stop_signals():
        check_ports({"grpc": plan.grpc_port, "http": plan.http_port}, plan.command)
        trainings = (_training(plan, agent) for agent in plan.agents if agent.training)
        children = [_collector(plan), *(_agent(plan, agent) for agent in plan.agents), *trainings]
        try:
            for child in children:
                child.start()
            hosts = _wait_for_hosts(plan, children, console)
            _show(plan, hosts, console)
            _keep_running(children, console)
        except _Stop:
            console.print("stopping: what is not written yet is being written")
        finally:
            _stop(children)


def check_ports(ports: Mapping[str, int], command: str) -> None:
    """Raise a message that says what to do when ports are taken; of all of them at once."""
    reasons = {name: reason for name, port in ports.items() if (reason := _taken(port))}
    if reasons:
        said = ", ".join(
            f"port {ports[name]} of 127.0.0.1 ({name}) cannot be used: {why}" for name, why in reasons.items()
        )
        options = " ".join(f"--port-{name} {_free_port()}" for name in reasons)
        raise CommandError(
            f"{said}. If a collector runs here already, `flyball hosts` shows it; "
            f"otherwise choose anew: flyball {command} {options}"
        )


def _taken(port: int) -> str:
    """Why a port cannot be used; empty when it can."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            return error.strerror or type(error).__name__
    return ""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def _lock(directory: Path, command: str) -> Iterator[None]:
    """One at a time in a directory; the lock goes with the process."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / ".gitignore").write_text("*\n")
        lock = (directory / "lock").open("w")
    except OSError as error:
        raise CommandError(f"{directory} cannot be used: {error.strerror}; name another with --directory") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            hint = "end it (Ctrl-C there), or use another --directory"
            raise CommandError(f"another `flyball {command}` runs in {directory}: {hint}") from None
        yield


@contextlib.contextmanager
def _stop_signals() -> Iterator[None]:
    """INT, TERM and HUP end it; a second one waits for the first."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        for number in before:
            signal.signal(number, signal.SIG_IGN)
        raise _Stop

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    for number in before:
        signal.signal(number, stop)
    try:
        yield
    except _Stop:  # before anything was started
        return
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _collector(plan: LocalPlan) -> Child:
    settings = {
        "grpc.listen": f"127.0.0.1:{plan.grpc_port}",
        "http.listen": f"127.0.0.1:{plan.http_port}",
        "store.url": f"sqlite:///{plan.directory / 'flyball.db'}",
    }
    return _daemon(plan, "collector", "collector", settings)


def _agent(plan: LocalPlan, agent: AgentPlan) -> Child:
    state = plan.directory / agent.folder
    state.mkdir(exist_ok=True)
    settings = {
        "collector": json.dumps([f"127.0.0.1:{plan.grpc_port}"]),
        "state_directory": state,
        "socket_path": socket_path(state),
        **agent.settings,
    }
    return _daemon(plan, "agent", agent.folder, settings)


def _training(plan: LocalPlan, agent: AgentPlan) -> Child:
    name, path = f"{agent.folder}-training", socket_path(plan.directory / agent.folder)
    command = [sys.executable, "-m", "flyball_agent.standin.training", str(path), *agent.training]
    return Child(name, command, plan.directory / f"{name}.log")


def _daemon(plan: LocalPlan, part: str, name: str, settings: Mapping[str, object]) -> Child:
    config = plan.directory / f"{part}.toml"
    if not config.exists():
        config.write_text(_SETTINGS.format(daemon=part, command=plan.command))
    options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    command = [sys.executable, "-m", "flyball", part, "--config", str(config), *options]
    return Child(name, command, plan.directory / f"{name}.log")


def socket_path(state: Path) -> Path:
    """Where training processes reach the agent; a short path elsewhere when this one is too long for a socket."""
    path = state / "agent.sock"
    if len(os.fsencode(path)) <= _SOCKET_PATH_BYTES:
        return path
    digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"flyball-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / f"{digest}.sock"


def _wait_for_hosts(plan: LocalPlan, children: Sequence[Child], console: Console) -> list[Answer]:
    """Wait until every agent's first record is visible; say what is going on, and what went wrong."""
    started = time.monotonic()
    with console.status("starting the collector") as progress:
        while time.monotonic() - started < _FIRST_RECORD_SECONDS:
            _give_up_on_the_dead(children, console)
            hosts = fresh_hosts(plan.url)
            if hosts is None:
                progress.update("starting the collector")
            elif len(hosts) >= len(plan.agents):
                return hosts
            else:
                progress.update(f"waiting for the first record ({len(hosts)} of {len(plan.agents)} agents)")
            time.sleep(_TEND_SECONDS)
    words = "\n".join(f"{child.name}:\n{child.last_words()}" for child in children)
    raise CommandError(f"no record became visible within {_FIRST_RECORD_SECONDS:.0f} s; the logs end with\n{words}")


def _give_up_on_the_dead(children: Sequence[Child], console: Console) -> None:
    for child in children:
        news = child.tend(time.monotonic())
        if child.deaths >= _GIVE_UP_DEATHS or child.last_status == _CALLED_WRONGLY:
            raise CommandError(f"the {child.name} does not start; {child.log} ends with\n{child.last_words()}")
        if news:
            console.print(news, highlight=False, markup=False)


def fresh_hosts(url: str) -> list[Answer] | None:
    """Hosts that are up now; `None` while the collector does not answer."""
    answer = get_json(f"{url}/api/v1/hosts?status=up")
    if answer is None:
        return None
    return [host for host in answer["hosts"] if host["connected"] and host["columns"]]


def get_json(url: str) -> Any:
    """What the API answers; `None` when it does not."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310  our own loopback address
            return json.load(answer)
    except (OSError, urllib.error.URLError, ValueError):
        return None


def _show(plan: LocalPlan, hosts: Sequence[Answer], console: Console) -> None:
    details: list[tuple[Answer, Sequence[Answer]]] = []
    for host in hosts[:4]:
        live = get_json(f"{plan.url}/api/v1/hosts/{host['name']}/live")
        if live is not None:
            details.append((live, live["columns"]))
    port = plan.http_port
    places = Places(
        page=f"{plan.url}/",
        metrics=f"{plan.url}/metrics (service discovery: {plan.url}/sd)",
        api=f"{plan.url}/openapi.json",
        directory=_short(plan.directory),
        http_option="" if port == _DEFAULT_HTTP_PORT else f"--collector {plan.url}",
    )
    console.print()
    for line in first_screen(details, places):
        console.print(line, highlight=False, soft_wrap=not console.is_terminal)
    if len(hosts) > len(details):
        console.print(f"… and {len(hosts) - len(details)} more hosts: flyball hosts", highlight=False)
    if plan.note:
        console.print(f"\n[yellow]{plan.note}[/yellow]", highlight=False)
    console.print("\n[bold]Ctrl-C[/bold] ends it; what was recorded stays and is shown again next time.\n")


def _short(path: Path) -> str:
    with contextlib.suppress(ValueError):
        return str(path.relative_to(Path.cwd()))
    return str(path)


def _keep_running(children: Sequence[Child], console: Console, now: Callable[[], float] = time.monotonic) -> None:
    while True:
        for child in children:
            news = child.tend(now())
            if news:
                console.print(time.strftime("%H:%M:%S"), news, highlight=False, markup=False)
        time.sleep(_TEND_SECONDS)


def _stop(children: Sequence[Child]) -> None:
    """Agents, and who reports to them, first and together: what they say at the end still arrives."""
    collector, *agents = children
    for agent in agents:
        agent.ask_to_stop()
    for agent in agents:
        agent.stop(_AGENT_STOP_SECONDS)
    collector.stop(_COLLECTOR_STOP_SECONDS)
