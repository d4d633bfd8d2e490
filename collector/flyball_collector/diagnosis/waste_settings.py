"""What lost GPU time costs. It is the section `[diagnosis.waste]`."""

from typing import Annotated

import msgspec
from msgspec import Meta


class WasteSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """So that lost time can be shown as money."""

    price_per_gpu_hour: Annotated[
        float, Meta(ge=0.0, description="What an hour of a GPU costs; 0: not known, and no money is shown.")
    ] = 0.0
    currency: Annotated[str, Meta(pattern="^[A-Z]{3}$", description="Its currency, as ISO 4217 calls it.")] = "USD"
