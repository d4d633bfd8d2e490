"""The route that the page requests every second."""

from typing import Annotated

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import QueryParameter

from flyball_collector.http.collector_parts import PartsDependency
from flyball_collector.http.encoding import OWN_ENCODING
from flyball_collector.http.overview import Overview, Overviews


@get("/overview", summary="The whole fleet, columnar", media_type="application/json", opt={OWN_ENCODING: True})
async def overview(
    parts: PartsDependency,
    overviews: NamedDependency[Overviews],
    generation: Annotated[
        int | None, QueryParameter(description="`generation` of an earlier answer, whose names are then omitted.")
    ] = None,
) -> Response[Overview]:
    """Return a few values of every host, always gzipped, at most a second old."""
    body = await overviews.answer(generation, parts.clock(), warming=parts.warming())
    headers = {"Content-Encoding": "gzip", "Cache-Control": "no-store"}
    return Response(body, headers=headers, media_type="application/json")  # type: ignore[arg-type]  # already encoded
