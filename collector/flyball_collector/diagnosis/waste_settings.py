"""Settings for the cost of lost GPU time: the section `[diagnosis.waste]`."""

from typing import Annotated

import msgspec
from msgspec import Meta


class WasteSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The price of GPU time, to show lost time as money."""

    price_per_gpu_hour: Annotated[
        float, Meta(ge=0.0, description="Price of one GPU-hour. 0: unknown, so no money is shown.")
    ] = 0.0
    currency: Annotated[str, Meta(pattern="^[A-Z]{3}$", description="Currency of the price (ISO 4217 code).")] = "USD"
