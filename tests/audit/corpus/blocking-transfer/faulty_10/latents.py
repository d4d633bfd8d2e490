from torchdata.stateful_dataloader import StatefulDataLoader


def build_map_style(dataset, workers):
    return dataset, StatefulDataLoader(dataset, batch_size=8, num_workers=workers, pin_memory=True)
