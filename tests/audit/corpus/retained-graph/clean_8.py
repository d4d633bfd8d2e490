import lightning
import torch


class Several(lightning.LightningModule):
    """Losses of one step are summed, and put into a table that begins anew, before that step's end."""

    def training_step(self, batch, _):
        self.automatic_optimization = False
        first, second = self.optimizers()
        loss = 0.0
        for key in batch.keys():
            part = self.net(batch[key]["audio"]).mean()
            loss += part
            first.zero_grad()
            self.manual_backward(part)
            first.step()
        self.log_dict(self.table({"sum": loss, "rest": loss}))
        second.step()

    def table(self, losses):
        grouped = {}
        for name, value in losses.items():
            grouped.setdefault(name[:1], []).append(value)
        return {name: torch.stack(values).sum() for name, values in grouped.items()}
