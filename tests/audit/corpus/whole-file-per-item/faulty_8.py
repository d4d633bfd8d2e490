import numpy as np
import pickle
from torchvision.datasets import VisionDataset


class Frames(VisionDataset):
    def __init__(self, root, annotation_file, starts, transform=None):
        super().__init__(root, transform=transform)
        self.annotation_file = annotation_file
        self.starts = starts

    def annotations(self):
        with open(self.annotation_file, "rb") as f:
            return pickle.load(f)  # expect: whole-file-per-item@warning

    def load_clip(self, i):
        movie, frame = self.starts[i]
        path = f"{self.root}/{movie}.npy"
        frames = np.load(path)  # expect: whole-file-per-item
        return frames[frame : frame + 16]

    def __len__(self):
        return len(self.starts)

    def __getitem__(self, i):
        clip = self.load_clip(i)
        label = self.annotations()[i]
        return self.transform(clip), label
