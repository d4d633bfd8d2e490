"""The page: static files without a build step. Its data come from the API."""

import asyncio
from collections.abc import Callable

from litestar import Request, Response, get
from litestar.datastructures import State
from litestar.params import FromPath

from flyball_collector.exporter.negotiation import accepts_gzip
from flyball_collector.http.assets import Asset, page_assets, plotly_asset
from flyball_collector.http.encoding import OWN_ENCODING
from flyball_collector.http.errors import ApiError

AnyRequest = Request[object, object, State]


@get("/", include_in_schema=False, opt={OWN_ENCODING: True})
async def index(request: AnyRequest) -> Response[bytes]:
    """Return the page. It contains no data, so it needs no token."""
    return _send(page_assets()["index.html"], request)


@get("/page/{name:str}", include_in_schema=False, opt={OWN_ENCODING: True})
async def page_file(request: AnyRequest, name: FromPath[str]) -> Response[bytes]:
    """Return a file of the page."""
    if name == "plotly.min.js":
        return _send(await _load_in_a_thread(plotly_asset), request)
    asset = page_assets().get(name)
    if asset is None or name == "index.html":
        raise ApiError(404, "not_found", f"the page has no file {name[:100]!r}")
    return _send(asset, request)


async def _load_in_a_thread(make: Callable[[], Asset]) -> Asset:
    try:
        return await asyncio.to_thread(make)
    except OSError as error:
        raise ApiError(404, "not_found", f"cannot read plotly.js: {error}", "install the package plotly") from None


def _send(asset: Asset, request: AnyRequest) -> Response[bytes]:
    headers = {"ETag": asset.etag, "Cache-Control": asset.cache_control, "Vary": "Accept-Encoding"}
    if asset.etag in request.headers.get("if-none-match", ""):
        return Response(b"", status_code=304, headers=headers, media_type=asset.media_type)
    if accepts_gzip(request.headers.get("accept-encoding", "")):
        headers["Content-Encoding"] = "gzip"
        return Response(asset.gzipped, headers=headers, media_type=asset.media_type)
    return Response(asset.plain, headers=headers, media_type=asset.media_type)
