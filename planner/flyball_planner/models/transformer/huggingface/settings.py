"""Reads single settings of a Hugging Face configuration, with a family's names and defaults."""

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from flyball_planner.models.transformer.shape import TransformerShape
from flyball_reports.errors import InputError

Values = Mapping[str, object]


class Settings:
    """A `config.json` with the usual names, completed by a family's defaults."""

    def __init__(self, config: Values, defaults: Values | None = None, names: Mapping[str, str] | None = None) -> None:
        self.model_type = str(config.get("model_type", ""))
        usual = names or {}
        given = {usual.get(name, name): value for name, value in config.items()}  # null means "none", not a missing key
        own = {meant: name for name, meant in usual.items()}
        self._written = {**own, **{usual.get(name, name): name for name in config}}  # for messages
        self._values = {**(defaults or {}), **given}

    def integer(self, name: str, otherwise: int | None = None) -> int:
        """Return an integer."""
        value = self._value(name, otherwise)
        if value is None:
            raise InputError(f"the configuration of this {self.model_type} model lacks {self._shown(name)!r}; add it")
        if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
            raise self._wrong(name, value, "an integer")
        return int(value)

    def count(self, name: str, otherwise: int | None = None) -> int:
        """Return an integer that is not zero."""
        value = self.integer(name, otherwise)
        if value < 1:
            raise self._wrong(name, value, "at least 1")
        return value

    def share(self, name: str) -> float:
        """Return a number, by default 0."""
        value = self._value(name, 0.0)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._wrong(name, value, "a number")
        return float(value)

    def flag(self, name: str, otherwise: bool = False) -> bool:
        """Return true or false."""
        value = self._value(name, otherwise)
        if not isinstance(value, bool):
            raise self._wrong(name, value, "true or false")
        return value

    def text(self, name: str, otherwise: str = "") -> str:
        """Return a text."""
        return str(self._value(name, otherwise))

    def size(self, name: str) -> int:
        """Return the length of a list or mapping, by default 0."""
        value = self._value(name, ())
        return len(value) if isinstance(value, list | tuple | Mapping) else 0

    def within(self, name: str) -> Values:
        """Return a nested group of settings."""
        value = self._value(name, {})
        if not isinstance(value, Mapping):
            raise self._wrong(name, value, "a mapping")
        return value

    @property
    def dropout(self) -> bool:
        """Return True if there is dropout between the layers' products."""
        return any(self.share(name) > 0 for name in ("resid_pdrop", "hidden_dropout", "hidden_dropout_prob", "dropout"))

    @property
    def labels(self) -> int:
        """Return the number of a classifier's labels, by default two as in transformers."""
        return self.size("id2label") or self.integer("num_labels", 2)

    @property
    def architecture(self) -> str:
        """Return the purpose of the class, such as "ForCausalLM"; empty if there is none."""
        classes = self._value("architectures", ())
        name = str(classes[0]) if isinstance(classes, list | tuple) and classes else ""
        return next((suffix for suffix in SUFFIXES if name.endswith(suffix)), "")

    def _shown(self, name: str) -> str:
        """Return the name that the configuration, or else its family, has for a setting."""
        return self._written.get(name, name)

    def _wrong(self, name: str, value: object, expected: str) -> InputError:
        what = f"{self._shown(name)} of this {self.model_type} configuration is {value!r}"
        return InputError(f"{what}; expected {expected}")

    def _value(self, name: str, otherwise: object) -> object:
        value = self._values.get(name)
        return otherwise if value is None else value


SUFFIXES = (
    "ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "ForMaskedLM", "ForPreTraining",
    "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering",
    "ForImageClassificationWithTeacher", "ForImageClassification", "EncoderModel", "Model",
)  # fmt: skip
"""Suffixes of the names of transformers' classes."""


class ConfigFamily(Struct, frozen=True):
    """The configurations of one family; defaults are those of transformers 5.18 under the usual names."""

    model_types: tuple[str, ...]
    read: Callable[[Settings], TransformerShape]
    defaults: Values = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)  # the family's names for the usual settings
    class_stem: str = ""  # prefix of its classes, if not the model type

    @property
    def stems(self) -> tuple[str, ...]:
        """Return possible prefixes of the names of its classes."""
        return (*self.model_types, self.class_stem) if self.class_stem else self.model_types

    def shape(self, config: Values) -> TransformerShape:
        """Return the shape of a configuration."""
        return self.read(Settings(config, self.defaults, self.names))
