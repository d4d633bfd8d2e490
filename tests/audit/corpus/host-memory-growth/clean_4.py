import torchaudio
from torch.utils.data import Dataset


class Speech(Dataset):
    """One resampler for each of a handful of rates, however many recordings there are."""

    def __init__(self, recordings, rate=16_000):
        self.recordings = recordings
        self.rate = rate
        self.resamplers = {}

    def __len__(self):
        return len(self.recordings)

    def __getitem__(self, index):
        recording = self.recordings[index]
        sample_rate = recording["sample_rate"]
        if sample_rate not in self.resamplers:
            self.resamplers[sample_rate] = torchaudio.transforms.Resample(sample_rate, self.rate)
        return self.resamplers[sample_rate](recording["waveform"])
