import lightning as L
from lightning.pytorch.utilities import grad_norm


class Module(L.LightningModule):
    """Lightning's helper takes a norm for each parameter."""

    def training_step(self, batch, index):
        return self.loss(batch)

    def on_before_optimizer_step(self, optimizer):
        self.log_dict({f"norm/{name}": norm for name, norm in grad_norm(self, norm_type=2).items()})  # expect: gradient-norms-every-step
