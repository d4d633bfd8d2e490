"""The bare model is taken out of the wrapper at once: it runs on one GPU, whatever the line says."""
import torch


class Teacher:
    def __init__(self, model, device):
        self.model = model.to(device)
        if torch.cuda.device_count() > 1:
            self.model = torch.nn.DataParallel(self.model).module
