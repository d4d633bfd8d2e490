import pytest

from flyball_collector.exporter.negotiation import Format, accepts_gzip, choose_format

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
        ("", Format.TEXT),
        ("*/*", Format.TEXT),
        ("text/html,application/xhtml+xml,*/*;q=0.8", Format.TEXT),
        (PROMETHEUS_2, Format.OPENMETRICS),
        (PROMETHEUS_3, Format.OPENMETRICS),
        ("application/openmetrics-text; version=1.0.0", Format.OPENMETRICS),
        ('application/openmetrics-text; version="1.0.0"', Format.OPENMETRICS),
        ("application/openmetrics-text", Format.OPENMETRICS),
        ("application/openmetrics-text;version=2.0.0", Format.TEXT),
        ("application/openmetrics-text;q=0", Format.TEXT),
        ("application/openmetrics-text;q=0.3, text/plain;q=0.9", Format.TEXT),
        ("application/openmetrics-text;q=high", Format.TEXT),
        (";;,,=;q=,", Format.TEXT),
    ],
)
def test_openmetrics_only_for_those_who_ask_for_it(accept: str, expected: Format) -> None:
    """OpenMetrics is chosen by name and quality; whoever says anything else gets text 0.0.4."""
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
    """gzip is sent to whoever takes it, by name or by `*`."""
    assert accepts_gzip(header) is expected
