from transformers import Trainer, TrainingArguments


def main(model, dataset):
    arguments = TrainingArguments(
        output_dir="out",
        per_device_train_batch_size=1,  # expect: small-batch
        gradient_accumulation_steps=32,
        bf16=True,
    )
    Trainer(model=model, args=arguments, train_dataset=dataset).train()
