"""The link by which trainings of this user find the agent that `flyball up` has started."""

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from flyball.training.agent_socket import own_folder

LINK = "agent.sock"
_MAX_PATH_BYTES = 107  # of a Unix socket's address
_FOREIGN = "belongs to another user; remove it, or set TMPDIR"


class NoLink(Exception):
    """The link cannot be made. The message has the reason."""


@contextlib.contextmanager
def linked(target: Path) -> Iterator[str]:
    """Keep a link to a socket while the context is open. Yield why there is none, or an empty text.

    The newest `flyball up` replaces the link of an older one, and gives it back at its end.
    """
    fault, before = "", None
    try:
        try:
            before = _replace(target)
        except NoLink as error:
            fault = str(error)
        except OSError as error:
            fault = f"{own_folder()}: {error.strerror or error}"
        yield fault
    finally:
        if not fault:
            with contextlib.suppress(NoLink, OSError):
                _give_back(target, before)


def _replace(target: Path) -> str | None:
    """Link to a socket. Return the target of the link that was there."""
    with _locked_folder() as folder:
        link = folder / LINK
        if len(os.fsencode(link)) > _MAX_PATH_BYTES:
            raise NoLink(f"{link} is longer than a socket's address may be")
        before = _target_of(link)
        _link(folder, str(target))
        return before


def _give_back(target: Path, before: str | None) -> None:
    """Remove our link, or link to the socket that it replaced if an agent still has it."""
    with _locked_folder() as folder:
        if _target_of(folder / LINK) != str(target):
            return
        if before is not None and before != str(target) and Path(before).is_socket():
            _link(folder, before)
        else:
            (folder / LINK).unlink()


def _link(folder: Path, target: str) -> None:
    """Make or replace the link in one step, so that a training never finds half of it."""
    new = folder / f".{LINK}-{os.getpid()}"
    new.unlink(missing_ok=True)
    new.symlink_to(target)
    new.replace(folder / LINK)


def _target_of(link: Path) -> str | None:
    try:
        return os.readlink(link)  # noqa: PTH115  not resolved any further
    except OSError:
        return None


@contextlib.contextmanager
def _locked_folder() -> Iterator[Path]:
    """Make the folder if it is missing, and lock it. Refuse one in which another user could place a socket."""
    folder = Path(own_folder())
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except NotADirectoryError:
        raise NoLink(f"{folder} is not a folder; remove it") from None
    except PermissionError:
        raise NoLink(f"{folder} {_FOREIGN}") from None
    try:
        found = os.fstat(descriptor)
        if found.st_uid != os.getuid():
            raise NoLink(f"{folder} {_FOREIGN}")
        if stat.S_IMODE(found.st_mode) != stat.S_IRWXU:
            os.fchmod(descriptor, stat.S_IRWXU)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield folder
    finally:
        os.close(descriptor)
