from accelerate import Accelerator

accelerator = Accelerator()


def main(model, optimizer, train_dataloader, eval_dataloader, metric, epochs):
    model, optimizer, train_dataloader, eval_dataloader = accelerator.prepare(
        model, optimizer, train_dataloader, eval_dataloader
    )
    for _epoch in range(epochs):
        model.train()
        for batch in train_dataloader:
            loss = model(**batch).loss
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        model.eval()
        for batch in eval_dataloader:
            outputs = model(**batch)  # expect: no-grad-missing-in-eval@warning
            predictions = outputs.logits.argmax(dim=-1)
            metric.add_batch(predictions=accelerator.gather(predictions), references=accelerator.gather(batch["labels"]))
        print(metric.compute())
