"""Names of optimizers in each framework. A missing name has no equivalent there."""

TRANSFORMERS = {
    "adamw": "adamw_torch",
    "adamw-fused": "adamw_torch_fused",
    "adamw-8bit": "adamw_bnb_8bit",
    "adamw-paged": "paged_adamw_32bit",
    "adamw-8bit-paged": "paged_adamw_8bit",
    "sgd": "sgd",
    "sgd-momentum": "sgd",
    "adafactor": "adafactor",
    "lion": "lion_32bit",
    "adagrad": "adagrad",
    "rmsprop": "rmsprop",
}
"""Of `transformers.training_args.OptimizerNames`, 5.24."""

DEEPSPEED = {
    "adamw": "AdamW",
    "adamw-fused": "AdamW",
    "adam": "Adam",
    "lamb": "Lamb",
    "lion": "Lion",
    "adagrad": "Adagrad",
    "sgd": "SGD",
    "sgd-momentum": "SGD",
    "rmsprop": "RMSprop",
}
"""DeepSpeed's own optimizers, and those of torch.optim, which it accepts by their class names."""

TORCH = {
    "adamw": "torch.optim.AdamW",
    "adamw-fused": "torch.optim.AdamW",
    "adam": "torch.optim.Adam",
    "sgd": "torch.optim.SGD",
    "sgd-momentum": "torch.optim.SGD",
    "adagrad": "torch.optim.Adagrad",
    "rmsprop": "torch.optim.RMSprop",
}

TORCHTITAN = {"adamw": "AdamW", "adamw-fused": "AdamW", "adam": "Adam"}

MOMENTUM = 0.9  # of "sgd-momentum"
WITH_BETAS = frozenset(
    {"adamw", "adamw-fused", "adam", "adamw-paged", "adamw-8bit", "adamw-8bit-paged", "lamb", "lion"}
)
WITH_EPSILON = WITH_BETAS - {"lion"}
