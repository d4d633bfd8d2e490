import lightning as L
from sklearn.ensemble import IsolationForest


def detect_anomaly(series):
    """Anomalies of data are another matter."""
    return IsolationForest().fit_predict(series)


def main(module, data, debug):
    print(detect_anomaly(data))
    L.Trainer(detect_anomaly=debug).fit(module)
    L.Trainer(detect_anomaly=False).fit(module)
