"""What a name holds of which nothing else is known: by convention, or by what its module does with it."""

from flyball_audit.flow.library import guess
from flyball_audit.flow.losses import model_names
from flyball_audit.flow.values import MODEL, UNKNOWN, Value
from flyball_audit.module import Module


class Guesses:
    """The answers for one project; what a module's text tells is kept."""

    def __init__(self) -> None:
        self._models: dict[Module, frozenset[str]] = {}

    def of(self, module: Module, name: str) -> Value:
        """What a variable, an attribute or an argument of that name holds."""
        known = guess(name)
        if known != UNKNOWN:
            return known
        used = self._models.get(module)
        if used is None:
            used = self._models[module] = frozenset(model_names(module)) - {"self", "cls"}
        return MODEL if name in used else UNKNOWN
