"""The process that renders pages of a large fleet: orders come by its standard input, pages go by its output.

Started by `exporter.process` alone, and ends when its input does.
"""

import gc
import os
import pickle
import signal
import sys
from typing import BinaryIO

from flyball_collector.exporter.pages import Pages
from flyball_collector.exporter.parcel import Unpacker

NICENESS = 7
"""Above the collector's: where cores are scarce, its loop is not to wait for a page. Of 32 scrapes of 900 hosts on two
busy cores, every other with it: no turn of the loop over 80 ms in the median one, not one of 97 ms, and a page took
0.53 s in the median, not 0.67."""


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
    os.nice(NICENESS)
    gc.disable()
    work(sys.stdin.buffer, sys.stdout.buffer, float(sys.argv[1]))


if __name__ == "__main__":
    main()
