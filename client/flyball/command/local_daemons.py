"""A collector and its agents on this machine, as child processes of one command, in one directory."""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from rich.console import Console
from rich.markup import escape

from flyball.command.child_process import ChildProcess
from flyball.command.errors import CommandError, WrongArgument
from flyball.command.first_screen import Addresses, Answer, first_screen
from flyball.command.local_ports import check_ports
from flyball.command.output import write_view
from flyball.command.socket_link import linked
from flyball.extras import advice, missing
from flyball.training.agent_socket import SYSTEM_PATH

_CHECK_SECONDS = 0.25
_FIRST_RECORD_SECONDS = 60.0
_MOST_RESTARTS = 3
_WRONG_SETTINGS = 2  # the exit status of daemons with wrong settings: a restart would not help
_AGENT_STOP_SECONDS = 8.0
_COLLECTOR_STOP_SECONDS = 15.0
_SOCKET_PATH_BYTES = 100  # the kernel allows 107
_DEFAULT_HTTP_PORT = 3591

_SETTINGS = """\
# Settings of the {daemon} that `flyball {command}` starts here. Every key is in docs/configuration.md.
# Ports, store and paths are set on its command line, which overrides this file.
"""


@dataclass(frozen=True, slots=True)
class AgentPlan:
    """One agent to start; more than one only for demonstrations."""

    folder: str
    settings: Mapping[str, object] = field(default_factory=dict)
    training: Sequence[str] = ()
    """Arguments of a simulated training that reports to the agent, after its socket."""

    training_module: str = "flyball_agent.standin.training"


@dataclass(frozen=True, slots=True)
class LocalPlan:
    """The daemons to run, with their directory and ports."""

    command: str  # up or demo
    directory: Path
    grpc_port: int
    http_port: int
    agents: Sequence[AgentPlan]
    note: str = ""  # shown below the first screen
    collector: Mapping[str, object] = field(default_factory=dict)  # more of its settings

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http_port}"

    @property
    def socket(self) -> Path:
        """The socket for the trainings of this user: that of the first agent."""
        return socket_path(self.directory / self.agents[0].folder)


class _Stop(Exception):
    """A signal has asked the command to end."""


def run(plan: LocalPlan, console: Console) -> None:
    """Start the daemons, show the first screen, keep them running until Ctrl-C, and stop them in order."""
    for part in ("agent", "collector"):
        if absent := missing(part):
            raise CommandError(advice(f"flyball {plan.command}", "all", absent))
    with _lock(plan.directory, plan.command), _stop_signals():
        check_ports({"grpc": plan.grpc_port, "http": plan.http_port}, plan.command)
        trainings = (_training(plan, agent) for agent in plan.agents if agent.training)
        children = [_collector(plan), *(_agent(plan, agent) for agent in plan.agents), *trainings]
        with linked(plan.socket) as fault:
            try:
                for child in children:
                    child.start()
                hosts = _wait_for_hosts(plan, children, console)
                _show(plan, hosts, console)
                _show_socket(plan.socket, fault, console)
                _keep_running(children, console)
            except _Stop:
                console.print("stopping: saving the latest records")
            finally:
                _stop(children)


@contextlib.contextmanager
def _lock(directory: Path, command: str) -> Iterator[None]:
    """Lock the directory for one command at a time; the lock ends with the process."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / ".gitignore").write_text("*\n")
        lock = (directory / "lock").open("w")
    except (FileExistsError, NotADirectoryError):
        raise WrongArgument(f"--directory {directory} is a file; name a folder") from None
    except PermissionError:
        raise CommandError(f"--directory {directory}: no write permission; name another folder") from None
    except OSError as error:
        raise CommandError(f"--directory {directory}: {error.strerror or error}; name another folder") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise CommandError(
                f"another `flyball up` or `flyball demo` uses {directory}. Stop it with Ctrl-C, or name another "
                f"folder: flyball {command} --directory FOLDER"
            ) from None
        yield


@contextlib.contextmanager
def _stop_signals() -> Iterator[None]:
    """Raise `_Stop` on INT, TERM and HUP; further signals are ignored."""

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


def _collector(plan: LocalPlan) -> ChildProcess:
    settings = {
        "grpc.listen": f"127.0.0.1:{plan.grpc_port}",
        "http.listen": f"127.0.0.1:{plan.http_port}",
        "store.url": f"sqlite:///{plan.directory / 'flyball.db'}",
        **plan.collector,
    }
    return _daemon(plan, "collector", "collector", settings)


def _agent(plan: LocalPlan, agent: AgentPlan) -> ChildProcess:
    state = plan.directory / agent.folder
    state.mkdir(exist_ok=True)
    settings = {
        "collector": json.dumps([f"127.0.0.1:{plan.grpc_port}"]),
        "state_directory": state,
        "socket_path": socket_path(state),
        **agent.settings,
    }
    return _daemon(plan, "agent", agent.folder, settings)


def _training(plan: LocalPlan, agent: AgentPlan) -> ChildProcess:
    name, path = f"{agent.folder}-training", socket_path(plan.directory / agent.folder)
    command = [sys.executable, "-m", agent.training_module, str(path), *agent.training]
    return ChildProcess(name, command, plan.directory / f"{name}.log")


def _daemon(plan: LocalPlan, part: str, name: str, settings: Mapping[str, object]) -> ChildProcess:
    config = plan.directory / f"{part}.toml"
    if not config.exists():
        config.write_text(_SETTINGS.format(daemon=part, command=plan.command))
    options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    command = [sys.executable, "-m", "flyball", part, "--config", str(config), *options]
    return ChildProcess(name, command, plan.directory / f"{name}.log")


def socket_path(state: Path) -> Path:
    """Return the path of the agent's socket, in the temporary folder if the state directory's path is too long."""
    path = state / "agent.sock"
    if len(os.fsencode(path)) <= _SOCKET_PATH_BYTES:
        return path
    digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"flyball-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / f"{digest}.sock"


def _wait_for_hosts(plan: LocalPlan, children: Sequence[ChildProcess], console: Console) -> list[Answer]:
    """Wait until the first record of every agent is visible, and show the progress."""
    started = time.monotonic()
    with console.status("starting the collector") as progress:
        while time.monotonic() - started < _FIRST_RECORD_SECONDS:
            _check_children(children, console)
            hosts = fresh_hosts(plan.url)
            if hosts is None:
                progress.update("starting the collector")
            elif len(hosts) >= len(plan.agents):
                return hosts
            else:
                progress.update(f"waiting for the first record ({len(hosts)} of {len(plan.agents)} agents)")
            time.sleep(_CHECK_SECONDS)
    logs = "\n".join(f"{child.name}:\n{child.log_tail()}" for child in children)
    raise CommandError(f"no host has reported within {_FIRST_RECORD_SECONDS:.0f} s. The logs end with\n{logs}")


def _check_children(children: Sequence[ChildProcess], console: Console) -> None:
    """Restart daemons that have ended; give up if one cannot start."""
    for child in children:
        news = child.check(time.monotonic())
        if child.restarts >= _MOST_RESTARTS or child.last_status == _WRONG_SETTINGS:
            raise CommandError(f"the {child.name} cannot start. Its log {child.log} ends with\n{child.log_tail()}")
        if news:
            console.print(news, highlight=False, markup=False)


def fresh_hosts(url: str) -> list[Answer] | None:
    """Return the hosts that report now; None while the collector does not answer."""
    answer = get_json(f"{url}/api/v1/hosts?status=up")
    if answer is None:
        return None
    return [host for host in answer["hosts"] if host["connected"] and host["columns"]]


def get_json(url: str) -> Any:
    """Return the answer of the API; None if there is none."""
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
    addresses = Addresses(
        page=f"{plan.url}/",
        metrics=f"{plan.url}/metrics (service discovery: {plan.url}/sd)",
        api=f"{plan.url}/openapi.json",
        directory=_short(plan.directory),
        http_option="" if port == _DEFAULT_HTTP_PORT else f"--collector {plan.url}",
        adjusts=plan.collector.get("adjustments.enabled") == "true",
        commands=_folder_of_commands(),
    )
    console.print()
    for line in first_screen(details, addresses):
        if isinstance(line, str):
            console.print(line, highlight=False, soft_wrap=not console.is_terminal)
        else:
            write_view(line, console)
    if len(hosts) > len(details):
        console.print(f"… and {len(hosts) - len(details)} more hosts: flyball hosts", highlight=False)
    if plan.note:
        console.print(f"\n[yellow]{plan.note}[/yellow]", highlight=False)


def _show_socket(path: Path, fault: str, console: Console) -> None:
    """Show what trainings must set if they do not find this agent, and how to stop."""
    if Path(SYSTEM_PATH).is_socket():
        fault = f"an agent of this machine listens on {SYSTEM_PATH}"
    if fault:
        reason = f"Trainings do not report to this agent by themselves: {fault}."
        console.print(f"\n[yellow]{escape(reason)}[/yellow]", highlight=False, soft_wrap=True)
        console.print(f"For those that should: export FLYBALL_SOCKET={path}", highlight=False, markup=False)
    console.print("\nPress [bold]Ctrl-C[/bold] to stop. The recorded data is kept, and shown again next time.\n")


def _folder_of_commands() -> str:
    """Return the folder with the `flyball` of this environment, if the shell finds none there."""
    own, found = Path(sys.executable).parent, shutil.which("flyball")
    return "" if found is not None and Path(found).parent.samefile(own) else _short(own)


def _short(path: Path) -> str:
    with contextlib.suppress(ValueError):
        return str(path.relative_to(Path.cwd()))
    return str(path)


def _keep_running(children: Sequence[ChildProcess], console: Console) -> None:
    while True:
        for child in children:
            news = child.check(time.monotonic())
            if news:
                console.print(time.strftime("%Y-%m-%d %H:%M:%S %Z"), news, highlight=False, markup=False)
        time.sleep(_CHECK_SECONDS)


def _stop(children: Sequence[ChildProcess]) -> None:
    """Stop agents and trainings first and together, so that the collector still receives their last records."""
    collector, *agents = children
    for agent in agents:
        agent.terminate()
    for agent in agents:
        agent.stop(_AGENT_STOP_SECONDS)
    collector.stop(_COLLECTOR_STOP_SECONDS)
