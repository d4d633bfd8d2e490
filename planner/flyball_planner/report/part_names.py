"""Names that reports show for the parts of memory and time, and for the bottleneck of a step."""

_PARTS = {
    "working": "working memory",
    "key_value_cache": "keys and values (KV cache)",
    "product_workspaces": "workspaces of matrix products",
    "head": "output layer and loss",
    "accumulation": "gradient accumulation",
    "optimizer": "optimizer step",
    "tensor": "tensor-parallel communication",
    "expert": "expert-parallel communication",
    "context": "context-parallel communication",
    "data": "data-parallel communication",
    "transfer": "transfer between pipeline stages",
    "launch": "waiting for kernel launches",
    "bubble": "pipeline bubble",
    "uneven": "uneven nodes",
    "fixed": "fixed overhead",
}
"""The names of parts in JSON that are not clear by themselves."""

_BOTTLENECKS = {
    "memory-bound": "memory bandwidth",
    "overhead-bound": "overhead (kernel launches and Python between them)",
    "pipeline-bound": "the pipeline bubble",
    "data-bound": "data loading",
    "latency-bound": "the latency of scattered memory accesses",
    "sequential-bound": "steps that run one after the other on one core",
}


def part_name(name: str) -> str:
    """Return the name of a part for people.

    >>> part_name("working"), part_name("optimizer_states")
    ('working memory', 'optimizer states')
    """
    return _PARTS.get(name, name.replace("_", " "))


def limit_name(bottleneck: str) -> str:
    """Return the limit behind a bottleneck such as `memory-bound`.

    >>> limit_name("memory-bound"), limit_name("compute-bound")
    ('memory bandwidth', 'compute')
    """
    return _BOTTLENECKS.get(bottleneck, bottleneck.removesuffix("-bound"))
