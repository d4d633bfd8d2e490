from datetime import UTC, datetime, timedelta
from pathlib import Path

from structlog.testing import capture_logs

from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.security.certificate_expiry import ExpiryWatch, certificates_of
from flyball_collector.security.certs import Authority, Part
from flyball_collector.settings import CollectorSettings, GrpcSettings

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_expiry_is_a_metric_and_a_warning(tmp_path: Path) -> None:
    """A warning is logged two weeks before the end. A missing file is ignored."""
    authority = Authority(tmp_path / "c", NOW)
    authority.initialise()
    issued = authority.issue("collector", Part.COLLECTOR, days=30)
    grpc = GrpcSettings(certificate_file=str(issued.certificate_file), ca_file=str(tmp_path / "none"))
    metrics = OwnMetrics()
    watch = ExpiryWatch(certificates_of(CollectorSettings(grpc=grpc)), metrics)
    with capture_logs() as early:
        watch.check(NOW)
    with capture_logs() as late:
        watch.check(NOW + timedelta(days=17))
    assert early == []
    assert [(event["event"], event["key"]) for event in late] == [("certificate_expires_soon", "grpc.certificate_file")]
    name, labels = "flyball_collector_certificate_end_timestamp_seconds", {"key": "grpc.certificate_file"}
    assert metrics.registry.get_sample_value(name, labels) == issued.expires.timestamp()
