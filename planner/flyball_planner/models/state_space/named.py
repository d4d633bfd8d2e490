"""Well-known state-space models by name; the settings are those of their published configurations."""

from collections.abc import Mapping

SMALL = {"vocab_size": 50280, "tie_word_embeddings": True}
SMALL2 = {"vocab_size": 50288, "tie_word_embeddings": True, "state_size": 128, "n_groups": 1}

CONFIGURATIONS: Mapping[str, Mapping[str, object]] = {
    **{
        f"mamba-{size}": {"model_type": "mamba", "hidden_size": hidden, "num_hidden_layers": layers, **SMALL}
        for size, hidden, layers in (
            ("130m", 768, 24), ("370m", 1024, 48), ("790m", 1536, 48), ("1.4b", 2048, 48), ("2.8b", 2560, 64),
        )
    },
    **{
        f"mamba2-{size}": {
            "model_type": "mamba2", "hidden_size": hidden, "num_hidden_layers": layers, "num_heads": hidden // 32,
            **SMALL2,
        }
        for size, hidden, layers in (
            ("130m", 768, 24), ("370m", 1024, 48), ("780m", 1536, 48), ("1.3b", 2048, 48), ("2.7b", 2560, 64),
        )
    },
    "codestral-mamba-7b": {"model_type": "mamba2"},
    "falcon-mamba-7b": {
        "model_type": "falcon_mamba", "hidden_size": 4096, "num_hidden_layers": 64, "vocab_size": 65024,
        "tie_word_embeddings": False,
    },
    "jamba-v0.1": {"model_type": "jamba"},
    "jamba-1.5-mini": {"model_type": "jamba"},
    "jamba-1.5-large": {
        "model_type": "jamba", "hidden_size": 8192, "intermediate_size": 24576, "num_hidden_layers": 72,
        "num_attention_heads": 64, "num_key_value_heads": 8,
    },
}  # fmt: skip
"""Sources: config.json of state-spaces/mamba-*, state-spaces/mamba2-*, mistralai/Mamba-Codestral-7B-v0.1,
tiiuae/falcon-mamba-7b, ai21labs/Jamba-v0.1 and AI21-Jamba-1.5-Mini and -Large. A head of Mamba-2 has 64 of the
2 × hidden channels."""


MODEL_TYPES = frozenset({"mamba", "falcon_mamba", "mamba2", "jamba", "bamba"})
"""The types that `reading` can read. They are here because most configurations need none of its modules."""


def is_state_space(config: Mapping[str, object]) -> bool:
    """Return True if a configuration has state-space layers that can be read."""
    return str(config.get("model_type")) in MODEL_TYPES


def named_configuration(name: str) -> Mapping[str, object] | None:
    """Return the configuration of a well-known model, ignoring case, an owner before "/" and "-hf"."""
    plain = name.rsplit("/", 1)[-1].strip().casefold().replace("_", "-").replace(" ", "-")
    return CONFIGURATIONS.get(plain.removesuffix("-hf").removeprefix("ai21-"))
