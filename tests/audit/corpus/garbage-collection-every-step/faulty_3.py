import gc

import lightning as L


class Model(L.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def training_step(self, batch, batch_idx):
        gc.collect()  # expect: garbage-collection-every-step@warning
        return self.net(batch).mean()
