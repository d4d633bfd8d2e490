import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

import dist_utils
from model import build

accelerator = Accelerator()
model = build().to(accelerator.device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(build.dataset(), batch_size=8, num_workers=4, pin_memory=True, collate_fn=build.collate)

for step, batch in enumerate(loader):
    latents = batch.latents.to(accelerator.device)  # expect: blocking-transfer
    texts = batch["encoder_hidden_states"].to(dist_utils.get_torch_device())  # expect: blocking-transfer
    mask = batch["mask"].cuda(non_blocking=False)  # expect: blocking-transfer
    times = [each.to(next(model.parameters()).device) for each in batch["times"]]  # expect: blocking-transfer
    loss = model(latents, texts, mask, times).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
