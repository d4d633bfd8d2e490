"""The page's one request a second."""

from typing import Annotated

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import QueryParameter

from flyball_collector.http.encoding import OWN_ENCODING
from flyball_collector.http.overview import Overview, Overviews
from flyball_collector.http.parts import Here


@get("/overview", summary="The whole fleet, columnar", media_type="application/json", opt={OWN_ENCODING: True})
async def overview(
    parts: Here,
    overviews: NamedDependency[Overviews],
    generation: Annotated[int | None, QueryParameter(description="Of an earlier answer: leaves out the names.")] = None,
) -> Response[Overview]:
    """A few values of every host; always gzipped, at most a second old."""
    body = await overviews.answer(generation, parts.clock(), warming=parts.warming())
    headers = {"Content-Encoding": "gzip", "Cache-Control": "no-store"}
    return Response(body, headers=headers, media_type="application/json")  # type: ignore[arg-type]  # encoded already
