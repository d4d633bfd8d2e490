from torch.utils import data


class Screening:
    def __init__(self, config):
        self.config = config
        if "num_workers" not in self.config:
            self.config["num_workers"] = 0

    def loaders(self, training, validation):
        params = {
            "batch_size": 64,
            "num_workers": self.config["num_workers"],
        }
        return data.DataLoader(training, shuffle=True, **params), data.DataLoader(validation, **params)  # expect: loader-without-workers
