import lmdb
import rasterio
import xarray as xr
from rasterio.windows import Window
from torch.utils.data import Dataset


class Patches(Dataset):
    def __init__(self, scene, corners):
        self.scene = scene
        self.corners = corners

    def __len__(self):
        return len(self.corners)

    def __getitem__(self, index):
        column, row = self.corners[index]
        with rasterio.open(self.scene) as raster:  # expect: whole-file-per-item@note
            return raster.read(window=Window(column, row, 256, 256))


class Weather(Dataset):
    def __init__(self, file, times):
        self.file, self.times = file, times

    def __getitem__(self, index):
        state = xr.open_dataset(self.file).isel(time=index)  # expect: whole-file-per-item@note
        return state["t2m"].values

    def __len__(self):
        return len(self.times)


class Records(Dataset):
    def __init__(self, path, keys):
        self.path, self.keys = path, keys

    def __getitem__(self, index):
        env = lmdb.open(self.path, readonly=True, lock=False)  # expect: whole-file-per-item@note
        with env.begin() as transaction:
            return transaction.get(self.keys[index])
