import pytest

from flyball_collector.exporter.negotiation import ExpositionFormat, accepts_gzip, choose_format

PROMETHEUS_2 = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)
PROMETHEUS_3 = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
    "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,"
    "text/plain;version=0.0.4;q=0.2,*/*;q=0.1"
)


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", ExpositionFormat.TEXT),
        ("*/*", ExpositionFormat.TEXT),
        ("text/html,application/xhtml+xml,*/*;q=0.8", ExpositionFormat.TEXT),
        (PROMETHEUS_2, ExpositionFormat.OPENMETRICS),
        (PROMETHEUS_3, ExpositionFormat.OPENMETRICS),
        ("application/openmetrics-text; version=1.0.0", ExpositionFormat.OPENMETRICS),
        ('application/openmetrics-text; version="1.0.0"', ExpositionFormat.OPENMETRICS),
        ("application/openmetrics-text", ExpositionFormat.OPENMETRICS),
        ("application/openmetrics-text;version=2.0.0", ExpositionFormat.TEXT),
        ("application/openmetrics-text;q=0", ExpositionFormat.TEXT),
        ("application/openmetrics-text;q=0.3, text/plain;q=0.9", ExpositionFormat.TEXT),
        ("application/openmetrics-text;q=high", ExpositionFormat.TEXT),
        (";;,,=;q=,", ExpositionFormat.TEXT),
    ],
)
def test_openmetrics_only_for_scrapers_that_request_it(accept: str, expected: ExpositionFormat) -> None:
    """OpenMetrics is chosen by name and quality; all other scrapers get text 0.0.4."""
    assert choose_format(accept) is expected


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", False),
        ("gzip", True),
        ("br, GZIP;q=0.5", True),
        ("gzip;q=0", False),
        ("gzip;q=0, *", False),
        ("*", True),
        ("*;q=0", False),
        ("deflate", False),
        ("identity;q=1, gzip;q=nonsense", False),
    ],
)
def test_gzip_only_where_it_is_accepted(header: str, expected: bool) -> None:
    """gzip is sent if it is accepted by name or by `*`."""
    assert accepts_gzip(header) is expected
