from torch.utils.data import DataLoader


class Loader(DataLoader):
    @classmethod
    def of_settings(cls, dataset, settings):
        return cls(dataset, settings.batch_size, num_workers=settings.workers, persistent_workers=True)


class Sampler:
    @classmethod
    def of_settings(cls, dataset, settings):
        return cls(dataset, settings.batch_size)  # no loader of PyTorch, whatever the file speaks of
