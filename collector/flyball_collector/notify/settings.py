"""Whom to notify, and how."""

from typing import Annotated

import msgspec
from msgspec import Meta

_Url = Annotated[str, Meta(pattern="^https?://[^/@]+(/.*)?$")]
_Severity = "^(info|warning|critical)$"


class AlertmanagerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Prometheus' Alertmanager, by its API v2. It groups, inhibits, silences and routes by itself."""

    urls: Annotated[
        tuple[_Url, ...], Meta(description="e.g. http://alertmanager:9093; of a cluster name every one. Empty: none.")
    ] = ()
    min_severity: Annotated[str, Meta(pattern=_Severity, description="Least severity that is told.")] = "warning"
    resend_seconds: Annotated[
        float, Meta(ge=1, le=3600, description="What stands is sent again this often; it lapses after four times this.")
    ] = 60.0
    authorization_file: Annotated[
        str, Meta(description="File with the value of the Authorization header, such as `Bearer TOKEN`.")
    ] = ""
    ca_file: Annotated[str, Meta(description="Authority of its certificate, when it is private.")] = ""


class WebhookSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Any address that takes a POST of JSON."""

    urls: Annotated[tuple[_Url, ...], Meta(description="Each is told everything. Empty: none.")] = ()
    min_severity: Annotated[str, Meta(pattern=_Severity, description="Least severity that is told.")] = "warning"
    group_by: Annotated[
        tuple[Annotated[str, Meta(pattern="^(kind|severity|host|run)$")], ...],
        Meta(description="Events that are alike in this come in one message: kind, severity, host, run."),
    ] = ("kind",)
    group_wait_seconds: Annotated[
        float, Meta(ge=0, le=3600, description="Wait this long after the first event of a group for others.")
    ] = 10.0
    group_interval_seconds: Annotated[
        float, Meta(ge=0, le=86400, description="Least time between two messages of one group.")
    ] = 60.0
    secret_file: Annotated[
        str, Meta(description="File with a secret; messages are then signed with it (HMAC-SHA256).")
    ] = ""
    authorization_file: Annotated[str, Meta(description="File with the value of the Authorization header.")] = ""
    ca_file: Annotated[str, Meta(description="Authority of its certificate, when it is private.")] = ""


class NotifySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Notifications."""

    external_url: Annotated[
        str, Meta(description="How people reach this collector, https://…: links in notifications.")
    ] = ""
    runbook_url: Annotated[
        str, Meta(description="Where the runbooks are, https://…; the alert's name is put behind it.")
    ] = ""
    time_limit_seconds: Annotated[
        float, Meta(gt=0, le=300, description="A receiver that takes longer counts as away.")
    ] = 10.0
    keep_hours: Annotated[
        float, Meta(gt=0, description="What a receiver has not taken is tried again for so long.")
    ] = 168.0
    alertmanager: AlertmanagerSettings = AlertmanagerSettings()
    webhook: WebhookSettings = WebhookSettings()
