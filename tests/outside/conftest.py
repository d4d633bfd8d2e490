"""One collector with TLS and one without for all clients of this folder. Each test leaves them healthy."""

from collections.abc import Iterator

import pytest

from tests.outside.door import SecuredCollector
from tests.processes import Collector

_SETTINGS = {"limits.records_per_second": 2_000, "not_reporting_after_seconds": 2}


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredCollector]:
    """A collector that accepts agents with certificates."""
    with SecuredCollector(tmp_path_factory.mktemp("secured"), _SETTINGS) as process:
        process.start_ready()
        yield process
        assert process.alive(), process.tail()
        assert "Traceback" not in process.log.read_text()


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    """A collector on the loopback, without TLS."""
    with Collector(tmp_path_factory.mktemp("plain"), _SETTINGS) as process:
        process.start_ready()
        yield process
        assert process.alive(), process.tail()
        assert "Traceback" not in process.log.read_text()
