"""Families of frameworks: which messages they overlap, and which work they fuse.

`megatron` is Megatron-Core, `megatron-lm` its predecessor up to 2022, and `pytorch-async` is PyTorch with asynchronous
tensor parallelism.
"""

OVERLAPPING = frozenset({"pytorch", "pytorch-async", "megatron", "llm.c"})
"""Frameworks that exchange weights and gradients while they compute; DeepSpeed and old Megatron-LM wait."""
FUSED_ACCUMULATION = frozenset({"megatron", "megatron-lm", "deepspeed"})
"""Frameworks whose products add to the accumulated gradient directly, so it is read and written once."""
TENSOR_OVERLAPPING = frozenset({"megatron", "pytorch-async"})
"""Frameworks that overlap tensor-parallel messages with products, such as Transformer Engine."""
EXPERT_OVERLAPPING = frozenset({"megatron"})
"""Frameworks that exchange the tokens of one chunk of a pipeline while they compute another: Megatron-Core
(overlap_moe_expert_parallel_comm). DeepSeek's own framework does the same (DualPipe)."""
SCATTERING = frozenset({"megatron", "megatron-lm"})
"""Frameworks whose tensor-parallel ranks each send a part to the next stage (Narayanan et al. 2021, section 4.1)."""
PLAIN_PYTORCH = frozenset({"pytorch", "pytorch-async"})
"""Frameworks with PyTorch's own attention, sharding and selective checkpointing."""
