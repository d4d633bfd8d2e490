"""Reads single settings of a Hugging Face configuration, with a family's names and defaults."""

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from flyball_planner.models.transformer.shape import TransformerShape
from flyball_reports.errors import InputError

Values = Mapping[str, object]


class Settings:
    """A `config.json` under the usual names, filled up with a family's defaults."""

    def __init__(self, told: Values, defaults: Values | None = None, names: Mapping[str, str] | None = None) -> None:
        self.model_type = str(told.get("model_type", ""))
        usual = names or {}
        given = {usual.get(name, name): value for name, value in told.items()}  # null is "none", no missing key
        self._values = {**(defaults or {}), **given}

    def whole(self, name: str, otherwise: int | None = None) -> int:
        """A whole number."""
        value = self._told(name, otherwise)
        if value is None:
            raise InputError(f"the configuration of this {self.model_type} model lacks {name!r}: add it")
        if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
            raise InputError(f"{name} of this {self.model_type} configuration is {value!r}: a whole number is expected")
        return int(value)

    def count(self, name: str, otherwise: int | None = None) -> int:
        """A whole number that cannot be zero."""
        value = self.whole(name, otherwise)
        if value < 1:
            raise InputError(f"{name} of this {self.model_type} configuration is {value}: at least 1 is expected")
        return value

    def share(self, name: str) -> float:
        """A number that is 0 where it is not told."""
        value = self._told(name, 0.0)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"{name} of this {self.model_type} configuration is {value!r}: a number is expected")
        return float(value)

    def flag(self, name: str, otherwise: bool = False) -> bool:
        """Yes or no."""
        value = self._told(name, otherwise)
        if not isinstance(value, bool):
            raise InputError(f"{name} of this {self.model_type} configuration is {value!r}: true or false is expected")
        return value

    def text(self, name: str, otherwise: str = "") -> str:
        """A text."""
        return str(self._told(name, otherwise))

    def size(self, name: str) -> int:
        """How many entries a list or a mapping has; 0 where it is not told."""
        value = self._told(name, ())
        return len(value) if isinstance(value, list | tuple | Mapping) else 0

    def within(self, name: str) -> Values:
        """A part with names of its own."""
        value = self._told(name, {})
        if not isinstance(value, Mapping):
            raise InputError(f"{name} of this {self.model_type} configuration is {value!r}: a mapping is expected")
        return value

    @property
    def dropout(self) -> bool:
        """Whether anything between the layers' products is dropped."""
        return any(self.share(name) > 0 for name in ("resid_pdrop", "hidden_dropout", "hidden_dropout_prob", "dropout"))

    @property
    def labels(self) -> int:
        """Of a classifier; transformers has two where nothing is told."""
        return self.size("id2label") or self.whole("num_labels", 2)

    @property
    def architecture(self) -> str:
        """What the class is for, as in "ForCausalLM"; empty where nothing is told."""
        classes = self._told("architectures", ())
        name = str(classes[0]) if isinstance(classes, list | tuple) and classes else ""
        return next((suffix for suffix in SUFFIXES if name.endswith(suffix)), "")

    def _told(self, name: str, otherwise: object) -> object:
        value = self._values.get(name)
        return otherwise if value is None else value


SUFFIXES = (
    "ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "ForMaskedLM", "ForPreTraining",
    "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering",
    "ForImageClassificationWithTeacher", "ForImageClassification", "EncoderModel", "Model",
)  # fmt: skip
"""How classes of transformers end."""


class Family(Struct, frozen=True):
    """How one family's configurations are read; defaults are those of transformers 5.18, under the usual names."""

    model_types: tuple[str, ...]
    read: Callable[[Settings], TransformerShape]
    defaults: Values = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)  # what the family calls the usual settings
    class_stem: str = ""  # how its classes begin, where no model type says it

    @property
    def stems(self) -> tuple[str, ...]:
        """How the names of its classes may begin."""
        return (*self.model_types, self.class_stem) if self.class_stem else self.model_types

    def shape(self, told: Values) -> TransformerShape:
        """The shape that a configuration describes."""
        return self.read(Settings(told, self.defaults, self.names))
