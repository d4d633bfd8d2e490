"""Check a body against Alertmanager's published schema of `POST /api/v2/alerts` and against its validation code.

The schema is https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml, definitions `postableAlerts`,
`postableAlert`, `alert` and `labelSet`. `model.Alert.Validate` adds: there is a start, the end is not before the start,
there is at least one label, label names are identifiers, and values are valid UTF-8.
"""

import re
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

_FIELDS = {"labels", "annotations", "startsAt", "endsAt", "generatorURL"}
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


def check_alerts(body: Any) -> None:
    """Assert that Alertmanager would accept this body."""
    assert isinstance(body, list)
    for alert in body:
        assert set(alert) <= _FIELDS
        assert alert["labels"]
        for labels in (alert["labels"], alert.get("annotations", {})):
            for name, value in labels.items():
                assert _NAME.fullmatch(name), name
                assert isinstance(value, str)
                value.encode()
        assert "alertname" in alert["labels"]
        starts, ends = (moment(alert[name]) for name in ("startsAt", "endsAt"))
        assert ends >= starts
        if "generatorURL" in alert:
            assert urlsplit(alert["generatorURL"]).scheme in {"http", "https"}


def moment(text: str) -> datetime:
    """Parse a time of the format `date-time`, which is RFC 3339."""
    assert _DATE_TIME.fullmatch(text), text
    return datetime.fromisoformat(text)
