"""Alertmanager's published schema of `POST /api/v2/alerts`, and what its source checks beyond it.

From https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml, definitions `postableAlerts`,
`postableAlert`, `alert` and `labelSet`; and from `model.Alert.Validate`: a start, an end that does not lie before it,
at least one label, label names that are identifiers, values that are UTF-8.
"""

import re
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

_FIELDS = {"labels", "annotations", "startsAt", "endsAt", "generatorURL"}
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


def check_alerts(body: Any) -> None:
    """Assert that Alertmanager would take this."""
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
    """RFC 3339, as the format `date-time` says."""
    assert _DATE_TIME.fullmatch(text), text
    return datetime.fromisoformat(text)
