import torch


def a(model, loader, optimizer, meter):
    total = 0
    losses, log = [], {}
    for x in loader:
        loss = model(x.cuda()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss  # expect: retained-graph
        losses.append(loss)  # expect: retained-graph
        log["loss"] = log.get("loss", 0) + loss  # expect: retained-graph
    return total / len(loader), sum(losses)


class B:
    def fit(self, loader):
        self.total_loss, self.curve = 0.0, []
        for x in loader:
            loss = self.criterion(self.model(x.cuda()))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.total_loss = self.total_loss + loss  # expect: retained-graph
            self.curve += [loss]  # expect: retained-graph
