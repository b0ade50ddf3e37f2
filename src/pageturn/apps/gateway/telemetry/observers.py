"""Makes the observers that the settings name. Their packages come with an extra, and are imported only here, when they are wanted."""

from pageturn.apps.gateway.config import Config
from pageturn.apps.gateway.own_endpoints import OwnEndpoints
from pageturn.apps.gateway.telemetry.facts import Observer
from pageturn.values.errors import MissingExtra


def observers_for(config: Config, starts: int) -> tuple[list[Observer], OwnEndpoints]:
    """The observers, and the endpoints that show what they counted; raises `MissingExtra`."""
    observers: list[Observer] = []
    endpoints: OwnEndpoints = {}
    try:
        if config.logs == "json":
            from pageturn.apps.gateway.telemetry.logs import Logs  # noqa: PLC0415  an extra

            observers.append(Logs())
        if config.metrics:
            from pageturn.apps.gateway.telemetry.prometheus import PATH, Prometheus  # noqa: PLC0415

            counts = Prometheus(starts)
            observers.append(counts)
            endpoints = {("GET", PATH): counts}
        if config.otlp is not None:
            from pageturn.apps.gateway.telemetry.opentelemetry import OpenTelemetry  # noqa: PLC0415

            observers.append(OpenTelemetry(config.otlp))
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("pageturn"):
            raise
        raise MissingExtra("telemetry", extra="telemetry") from error
    return observers, endpoints
