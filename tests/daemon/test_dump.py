import signal
import subprocess
import sys

PROGRAM = """
import asyncio, sys, threading, time
from flyball_daemon import dump

async def waits():
    await asyncio.Event().wait()

async def main():
    dump.install(asyncio.get_running_loop())
    task = asyncio.create_task(waits(), name="the-waiter")
    threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
    await asyncio.sleep(0)
    print("up", flush=True)
    if "hang" in sys.argv:
        time.sleep(30)
    await asyncio.sleep(30)

asyncio.run(main())
"""


def dump_of(*arguments: str) -> str:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.send_signal(signal.SIGUSR1)
    lines = []
    for line in process.stderr:
        lines.append(line)
        if "waits" in line or ("hang" in arguments and "main" in line):
            break
    assert process.poll() is None
    process.kill()
    process.communicate()
    return "".join(lines)


def test_threads_and_tasks_are_dumped_and_the_daemon_continues() -> None:
    """The dump contains the stack of every thread and every task by name, and the daemon continues."""
    text = dump_of()
    assert "Current thread" in text
    assert "the-waiter" in text


def test_threads_are_dumped_while_the_loop_hangs() -> None:
    """The stacks are written by the signal handler, so a hanging event loop does not prevent the dump."""
    text = dump_of("hang")
    assert "Current thread" in text
