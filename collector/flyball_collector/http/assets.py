"""The page's files, read once, each with its ETag and gzip form."""

import gzip
import hashlib
import importlib.metadata
import importlib.util
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_PAGE = Path(__file__).parent / "page"
_TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_REVALIDATE = "no-cache"
_FOREVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class Asset:
    """A file in the form in which it is sent."""

    media_type: str
    etag: str
    cache_control: str
    plain: bytes
    gzipped: bytes


def _asset(name: str, content: bytes, cache_control: str, level: int) -> Asset:
    etag = f'"{hashlib.sha256(content).hexdigest()[:24]}"'
    return Asset(_TYPES[Path(name).suffix], etag, cache_control, content, gzip.compress(content, level, mtime=0))


@cache
def page_assets() -> dict[str, Asset]:
    """Return every file of the page except plotly.js, by name."""
    version = plotly_version().encode()
    return {
        path.name: _asset(path.name, path.read_bytes().replace(b"PLOTLY_VERSION", version), _REVALIDATE, 9)
        for path in sorted(_PAGE.iterdir())
        if path.suffix in _TYPES
    }


@cache
def plotly_version() -> str:
    """Return the version of the installed package. It is part of the script's URL, so that it can be cached forever."""
    return importlib.metadata.version("plotly")


@cache
def plotly_asset() -> Asset:
    """Return plotly.js of the package `plotly`. The first call takes half a second."""
    package = importlib.util.find_spec("plotly")
    if package is None or package.origin is None:
        raise FileNotFoundError("the package plotly is not installed")
    content = (Path(package.origin).parent / "package_data" / "plotly.min.js").read_bytes()
    return _asset("plotly.min.js", content, _FOREVER, 6)
