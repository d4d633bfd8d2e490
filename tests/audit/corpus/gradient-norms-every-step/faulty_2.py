import torch


class TreeTrainer:
    def __init__(self, tree, optimizer):
        self.tree = tree
        self.optimizer = optimizer

    def gradient_report(self, top):
        norms = {}
        for name, node in self.tree.named_parameters():
            if node.grad is not None:
                norms[name] = torch.linalg.vector_norm(node.grad).item()  # expect: gradient-norms-every-step@warning
        return sorted(norms.items(), key=lambda item: item[1], reverse=True)[:top]

    def fit(self, batches):
        for batch in batches:
            self.optimizer.zero_grad()
            loss = self.tree(batch.cuda()).mean()
            loss.backward()
            worst = self.gradient_report(10)
            print(worst)
            self.optimizer.step()
