"""The process that renders pages of a large fleet: orders come by its standard input, pages go by its output.

Started by `exporter.process` alone, and ends when its input does.
"""

import gc
import pickle
import signal
import sys
from typing import BinaryIO

from flyball_collector.exporter.pages import Pages
from flyball_collector.exporter.parcel import Unpacker


def work(orders: BinaryIO, pages: BinaryIO, vanish_after_seconds: float) -> None:
    """One page for each order, until there are no more."""
    unpacker, renderer = Unpacker(), Pages(vanish_after_seconds)
    while True:
        try:
            parcel = pickle.load(orders)  # noqa: S301  it comes from the process that started this one
        except EOFError:
            return
        pickle.dump(renderer.render(unpacker.unpack(parcel)), pages, protocol=pickle.HIGHEST_PROTOCOL)
        pages.flush()
        gc.collect(1)  # of what this page left; lines are kept by the hundred thousand, and need no looking through


def main() -> None:
    """Of `python -m`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # from a terminal it reaches this process too; its input ends then
    gc.disable()
    work(sys.stdin.buffer, sys.stdout.buffer, float(sys.argv[1]))


if __name__ == "__main__":
    main()
