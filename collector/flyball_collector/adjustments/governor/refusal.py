"""A request of a person that cannot be met."""


class AdjustmentRefused(Exception):
    """A person's request that cannot be met. The message has the reason and the remedy; `kind` is for programs."""

    def __init__(self, text: str, kind: str = "conflict") -> None:
        super().__init__(text)
        self.kind = kind  # unknown, conflict or invalid
