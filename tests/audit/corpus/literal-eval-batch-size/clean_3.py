"""One scan is a batch of windows; a test takes images of any size; a training in ones has nothing to grow with."""
import torch
from monai.inferers import sliding_window_inference
from torch.utils.data import DataLoader


@torch.no_grad()
def scans(model, val_set, args):
    val_loader = DataLoader(val_set, batch_size=1)
    return [sliding_window_inference(scan, (96, 96, 96), args.windows, model) for scan in val_loader]
