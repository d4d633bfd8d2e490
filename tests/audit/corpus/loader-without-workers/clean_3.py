"""A loader of another library has the same name."""
from torch_geometric.loader import DataLoader
from mylibrary.data import DataLoader as TextLoader


class DataLoader2:
    def __init__(self, items, batch_size):
        self.items, self.batch_size = items, batch_size


def main(graphs, texts, model, optimizer):
    for part in TextLoader(texts, batch_size=8):
        print(part)
    own = DataLoader2(graphs, batch_size=8)
    for graph in own.items:
        model(graph.cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return DataLoader
