import h5py
import numpy as np
import torch
from torch.utils.data import Dataset


class Scans(Dataset):
    """One file a patient; a sample is the whole of it, or mapped."""

    def __init__(self, folder, patients):
        self.folder, self.patients = folder, patients

    def path_of(self, patient, kind):
        return f"{self.folder}/{patient}/{kind}.npy"

    def load(self, patient, kind):
        path = self.path_of(patient, kind)
        return np.load(path)

    def __len__(self):
        return len(self.patients)

    def __getitem__(self, index):
        patient = self.patients[index]
        scan = self.load(patient, "scan")
        mapped = np.load(f"{self.folder}/all.npy", mmap_mode="r")
        with h5py.File(f"{self.folder}/{patient}.h5", "r") as file:
            mask = file["mask"][()]
        return torch.from_numpy(scan), torch.from_numpy(mask), torch.tensor(mapped[index])


class Windows(Dataset):
    def __init__(self, recordings):
        self.recordings = [np.load(each) for each in recordings]

    def __getitem__(self, index):
        recording = self.recordings[index % len(self.recordings)]
        return recording[index : index + 16]

    def __len__(self):
        return 1000
