import torch


class Validator:
    def __init__(self, model, loader):
        self.model = model.cuda()
        self.loader = loader

    def run(self):
        """Some models look at gradients while they are asked: those say so, the others record nothing."""
        self.model.eval()
        total = torch.zeros((), device="cuda")
        for inputs, labels in self.loader:
            if self.model.wants_history:
                output = self.model(inputs.cuda())
                self.model.zero_grad()
            else:
                with torch.no_grad():
                    output = self.model(inputs.cuda())
            total += (output.argmax(1) == labels.cuda()).sum()
        return total
