from service import NodeService


class Learner:
    def __init__(self, url, model, optimizer):
        self.service = NodeService(url)
        self.model, self.optimizer = model, optimizer

    def train(self, batches):
        for batch in batches:
            loss = self.model(batch["x"].cuda()).mean()
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            for node in batch["nodes"]:
                state = self.service.fetch(node)  # expect: per-sample-requests@warning
                self.service.update(node, state["rate"])  # expect: per-sample-requests@warning
