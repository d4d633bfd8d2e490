"""The process that renders pages of a large fleet. Only `exporter.rendering_process` starts it."""

import sys

from flyball_collector.exporter.page_renderer import PageRenderer, RenderedPage
from flyball_collector.exporter.request_encoding import EncodedRequest, RequestDecoder
from flyball_collector.worker_process import serve


def main() -> None:
    """Run the worker."""
    decoder, renderer = RequestDecoder(), PageRenderer(float(sys.argv[1]))

    def page(request: EncodedRequest) -> RenderedPage:
        return renderer.render(decoder.decode(request))

    serve(page)


if __name__ == "__main__":
    main()
