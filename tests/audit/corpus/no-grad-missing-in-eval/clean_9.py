import cv2
import numpy as np
from torch import nn


class Detector(nn.Module):
    """Being called means predicting: its class says so itself, and what that runs is not among the files."""

    def __init__(self, engine):
        super().__init__()
        self.engine = engine

    def __call__(self, image):
        return self.engine.run(image)


def infer_all(frames, engine):
    detector = Detector(engine)
    detector.eval()
    for frame in frames:
        print(detector(frame))


def predict_files(model, paths):
    """Modules take tensors: what is handed a picture is a predictor that makes tensors of it itself."""
    model.eval()
    for path in paths:
        picture = cv2.imread(path)
        print(model(picture, confidence=0.5))


def predict_arrays(model, arrays):
    for array in arrays:
        print(model(np.asarray(array)))
