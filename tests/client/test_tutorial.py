"""Test the script of the tutorial against the agent's own messages."""

import signal
import socket
import subprocess
import sys
from pathlib import Path

from flyball_agent.runs.messages import Hello, StepsMessage, decode

SCRIPT = Path(__file__).parents[2] / "docs/tutorial/train.py"


def test_the_script_reports_steps_that_the_agent_accepts(tmp_path: Path) -> None:
    """The first line opens the run, the second has steps with the time they waited; Ctrl-C ends it without an error."""
    folder = tmp_path / ".flyball/agent"
    folder.mkdir(parents=True)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # the child inherits it if a shell ignores it
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind(str(folder / "agent.sock"))
        agent.listen()
        agent.settimeout(20)
        training = subprocess.Popen([sys.executable, SCRIPT], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        with training, agent.accept()[0] as connection, connection.makefile("rb") as lines:
            connection.settimeout(20)
            hello = decode(lines.readline())
            connection.sendall(b'{"kind":"ok"}\n')
            steps = decode(lines.readline())
            connection.sendall(b'{"kind":"ok"}\n')
            training.send_signal(signal.SIGINT)
            assert training.wait(20) == 0
    signal.signal(signal.SIGINT, handler)
    assert isinstance(hello, Hello)
    assert (hello.run, hello.rank, hello.world_size) == ("first-run", 0, 1)
    assert isinstance(steps, StepsMessage)
    assert steps.data_wait_seconds is not None
    assert steps.step == steps.steps >= 1
    assert 0 < steps.data_wait_seconds < steps.step_seconds
