from torch.utils.data import DataLoader

from signs import Signs

BATCH_SIZE = 32

train_loader = DataLoader(Signs("train.csv"), batch_size=BATCH_SIZE, shuffle=True, num_workers=8)
valid_loader = DataLoader(Signs("valid.csv"), batch_size=16, shuffle=False, num_workers=2)
test_loader = DataLoader(Signs("test.csv"), batch_size=BATCH_SIZE, num_workers=2)
