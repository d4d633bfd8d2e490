"""The process that renders pages of a large fleet; started by `exporter.process` alone."""

import sys

from flyball_collector.exporter.pages import Page, Pages
from flyball_collector.exporter.parcel import Parcel, Unpacker
from flyball_collector.worker_process import serve


def main() -> None:
    """Of `python -m`."""
    unpacker, renderer = Unpacker(), Pages(float(sys.argv[1]))

    def page(parcel: Parcel) -> Page:
        return renderer.render(unpacker.unpack(parcel))

    serve(page)


if __name__ == "__main__":
    main()
