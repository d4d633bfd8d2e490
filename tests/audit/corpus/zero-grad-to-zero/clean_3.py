import torch


def captured(model, optimizer, static_input, loader):
    """Within a CUDA graph the gradients must keep their place in memory."""
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        optimizer.zero_grad(set_to_none=False)
        model(static_input).mean().backward()
        optimizer.step()
    for x in loader:
        static_input.copy_(x)
        graph.replay()


class Counter:
    def zero_grad(self, set_to_none):
        self.count = 0


def reset(counter: Counter):
    counter.zero_grad(set_to_none=False)
    for buffer in [torch.zeros(3)]:
        buffer.zero_()
