"""Settings of notifications."""

from typing import Annotated

import msgspec
from msgspec import Meta

_Url = Annotated[str, Meta(pattern="^https?://[^/@]+(/.*)?$")]
_Severity = "^(info|warning|critical)$"


class AlertmanagerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Prometheus Alertmanager, by its API v2. It groups, inhibits, silences and routes alerts by itself."""

    urls: Annotated[
        tuple[_Url, ...],
        Meta(description="Addresses such as http://alertmanager:9093; list every member of a cluster. Empty: none."),
    ] = ()
    min_severity: Annotated[str, Meta(pattern=_Severity, description="Minimum severity of notifications.")] = "warning"
    resend_seconds: Annotated[
        float,
        Meta(
            ge=1,
            le=3600,
            description="Active alerts are sent again at this interval, and expire after four times this interval.",
        ),
    ] = 60.0
    authorization_file: Annotated[
        str, Meta(description="File with the value of the HTTP header Authorization, such as `Bearer TOKEN`.")
    ] = ""
    ca_file: Annotated[
        str,
        Meta(description="File with the certificate of the receiver's authority, if that is a private one."),
    ] = ""


class WebhookSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Any address that accepts a POST with JSON."""

    urls: Annotated[
        tuple[_Url, ...], Meta(description="Addresses to which every notification is sent. Empty: none.")
    ] = ()
    min_severity: Annotated[str, Meta(pattern=_Severity, description="Minimum severity of notifications.")] = "warning"
    group_by: Annotated[
        tuple[Annotated[str, Meta(pattern="^(kind|severity|host|run)$")], ...],
        Meta(description="Events that agree in these share one message: kind, severity, host, run."),
    ] = ("kind",)
    group_wait_seconds: Annotated[
        float,
        Meta(ge=0, le=3600, description="Time to wait for further events of a group before its first message is sent."),
    ] = 10.0
    group_interval_seconds: Annotated[
        float, Meta(ge=0, le=86400, description="Minimum time between two messages of one group.")
    ] = 60.0
    secret_file: Annotated[str, Meta(description="File with a secret that signs messages (HMAC-SHA256).")] = ""
    authorization_file: Annotated[
        str, Meta(description="File with the value of the HTTP header Authorization, such as `Bearer TOKEN`.")
    ] = ""
    ca_file: Annotated[
        str,
        Meta(description="File with the certificate of the receiver's authority, if that is a private one."),
    ] = ""


class NotifySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Notifications."""

    external_url: Annotated[
        str, Meta(description="Address of this collector, https://…, for links in notifications.")
    ] = ""
    runbook_url: Annotated[
        str, Meta(description="Base address of the runbooks, https://…; the alert's name is appended.")
    ] = ""
    time_limit_seconds: Annotated[
        float, Meta(gt=0, le=300, description="A request to a receiver that takes longer fails.")
    ] = 10.0
    keep_hours: Annotated[
        float, Meta(gt=0, description="Time for which a failed notification is sent again before it is dropped.")
    ] = 168.0
    alertmanager: AlertmanagerSettings = AlertmanagerSettings()
    webhook: WebhookSettings = WebhookSettings()
