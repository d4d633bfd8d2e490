import jax
from torch_geometric.nn import DataParallel as GraphParallel


def main(step, state, batches):
    parallel = jax.pmap(step)
    for batch in batches:
        state = parallel(state, batch)
    return state


# model = nn.DataParallel(model) was replaced by torchrun and DistributedDataParallel
TEXT = "nn.DataParallel(model)"
