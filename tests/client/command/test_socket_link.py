"""The link by which trainings find the agent of `flyball up`."""

import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from flyball.command.socket_link import linked
from flyball.training.agent_socket import candidates, own_folder


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test a temporary folder of its own."""
    (tmp_path / "t").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "t"))
    monkeypatch.delenv("FLYBALL_SOCKET", raising=False)


@pytest.fixture
def listeners(tmp_path: Path) -> Iterator[list[Path]]:
    """Yield the paths of three sockets that listen."""
    with ExitStack() as stack:
        paths = [tmp_path / f"{name}.sock" for name in "abc"]
        for path in paths:
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(str(path))
            listener.listen()
        yield paths


def link() -> Path:
    return Path(own_folder()) / "agent.sock"


def test_a_client_finds_the_agent_without_a_setting(listeners: list[Path]) -> None:
    """The link is in a private folder, among the places where a client looks, and gone at the end."""
    with linked(listeners[0]) as fault:
        assert fault == ""
        assert candidates()[-1] == str(link())
        with socket.socket(socket.AF_UNIX) as training:
            training.connect(candidates()[-1])
        assert stat.S_IMODE(link().parent.stat().st_mode) == 0o700
    assert not os.path.lexists(link())
    assert list(link().parent.iterdir()) == []


def test_the_newest_agent_wins_and_gives_the_link_back(listeners: list[Path]) -> None:
    """An older one gets it again if it still has its socket; one that ended first does not."""
    first, second, third = listeners
    with linked(first):
        with linked(second):
            assert link().readlink() == second
        assert link().readlink() == first
        with linked(third):
            first.unlink()
        assert not os.path.lexists(link())


def test_an_older_agent_leaves_the_link_of_a_newer_one(listeners: list[Path]) -> None:
    """They may end in any order."""
    older, newer = linked(listeners[0]), linked(listeners[1])
    older.__enter__()
    newer.__enter__()
    older.__exit__(None, None, None)
    assert link().readlink() == listeners[1]
    listeners[0].unlink()
    newer.__exit__(None, None, None)
    assert not os.path.lexists(link())


def test_what_is_in_the_way_of_the_link_is_replaced(listeners: list[Path]) -> None:
    """A killed `flyball up` leaves its link, and the folder may have been made with another mode."""
    link().parent.mkdir(mode=0o755)
    link().symlink_to("/nowhere/agent.sock")
    with linked(listeners[0]) as fault:
        assert (fault, link().readlink()) == ("", listeners[0])
        assert candidates()[-1] == str(link())
    assert not os.path.lexists(link())


def test_the_link_goes_when_a_signal_ends_the_command(listeners: list[Path]) -> None:
    """Also if it arrives right after the link was made."""
    with pytest.raises(KeyboardInterrupt), linked(listeners[0]):
        raise KeyboardInterrupt
    assert not os.path.lexists(link())


def test_a_link_instead_of_the_folder_is_refused(tmp_path: Path, listeners: list[Path]) -> None:
    """It could lead to the folder of another user. Nothing is written there."""
    (tmp_path / "elsewhere").mkdir()
    Path(own_folder()).symlink_to(tmp_path / "elsewhere")
    with linked(listeners[0]) as fault:
        assert fault == f"{own_folder()} is not a folder; remove it"
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert len(candidates()) == 1


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder to another user")
def test_a_folder_of_another_user_is_refused(listeners: list[Path]) -> None:
    """Its owner could replace the link later. The client does not look there either."""
    folder = Path(own_folder())
    folder.mkdir()
    os.chown(folder, 12345, 12345)
    with linked(listeners[0]) as fault:
        assert fault == f"{folder} belongs to another user; remove it, or set TMPDIR"
    assert list(folder.iterdir()) == []
    assert len(candidates()) == 1


def test_a_temporary_folder_that_cannot_be_used_is_named(
    tmp_path: Path, listeners: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not exist, or its path is too long for a socket: `flyball up` goes on without the link."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    with linked(listeners[0]) as fault:
        assert fault == f"{own_folder()}: No such file or directory"
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.setenv("TMPDIR", str(long))
    with linked(listeners[0]) as fault:
        assert fault.endswith("is longer than a socket's address may be")
    assert not os.path.lexists(link())


def test_many_commands_at_once_leave_nothing(tmp_path: Path) -> None:
    """Six processes make and remove the link again and again; a client never finds half of it."""
    script = (
        "import sys; from pathlib import Path; from flyball.command.socket_link import linked\n"
        "for _ in range(40):\n"
        "    with linked(Path(sys.argv[1])) as fault: assert not fault, fault\n"
    )
    targets = [str(tmp_path / f"{number}.sock") for number in range(6)]
    commands = [subprocess.Popen([sys.executable, "-c", script, target]) for target in targets]
    seen = set()
    while any(command.poll() is None for command in commands):
        try:
            seen.add(os.readlink(link()))  # noqa: PTH115  the text of the link
        except FileNotFoundError:
            continue
    assert [command.returncode for command in commands] == [0] * 6
    assert seen <= set(targets)
    assert not os.path.lexists(link())
