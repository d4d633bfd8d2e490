from torch.utils.data import DataLoader as Plain


class BoxLoader(Plain):
    def __init__(self, dataset, **options):
        super().__init__(dataset, collate_fn=list, num_workers=4, **options)


def make(train, check, settings):
    options = {"batch_size": 8}
    options.update(settings)
    own = {"batch_size": 8, "num_workers": 2}
    return BoxLoader(train, shuffle=True), Plain(check, **options), Plain(check, **own), Plain([1, 2, 3])
