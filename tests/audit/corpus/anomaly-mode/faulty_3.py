import lightning as L


def main(module, data):
    trainer = L.Trainer(max_epochs=10, accelerator="gpu", detect_anomaly=True)  # expect: anomaly-mode@warning
    trainer.fit(module, data)
