from torch.nn.parallel import DataParallel as Parallel


class Experiment:
    def __init__(self, network, gpus):
        self.network = Parallel(network, device_ids=gpus).cuda()  # expect: data-parallel@warning

    def step(self, batch, optimizer):
        self.network(batch).mean().backward()
        optimizer.step()
