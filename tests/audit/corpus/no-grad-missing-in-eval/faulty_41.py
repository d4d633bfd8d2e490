import torch


class Validator:
    def __init__(self, model, loader):
        self.model = model.cuda()
        self.loader = loader

    def run(self):
        """The condition chooses the precision; history is kept in both arms."""
        self.model.eval()
        total = torch.zeros((), device="cuda")
        for inputs, labels in self.loader:
            if self.model.in_half:
                with torch.autocast("cuda"):
                    output = self.model(inputs.cuda())  # expect: no-grad-missing-in-eval@warning
            else:
                output = self.model(inputs.cuda())
            total += (output.argmax(1) == labels.cuda()).sum()
        return total
