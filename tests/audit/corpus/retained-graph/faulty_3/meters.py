class AverageMeter:
    def __init__(self):
        self.sum = 0
        self.count = 0

    def update(self, value, n=1):
        self.sum += value * n  # expect: retained-graph@note
        self.count += n

    @property
    def average(self):
        return self.sum / max(self.count, 1)
