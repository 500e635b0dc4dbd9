"""Watch the loss of each epoch, and save the model after each."""

import tempfile
from pathlib import Path

from gensim.models import Word2Vec
from gensim.models.callbacks import CallbackAny2Vec

sentences = [line.split() for line in Path("data/simplewiki.txt").read_text(encoding="utf-8").splitlines()[:3000]]


class LossLogger(CallbackAny2Vec):
    """Print the loss of each epoch."""

    def __init__(self):
        self.epoch, self.previous, self.losses = 0, 0.0, []

    def on_train_begin(self, model):
        print("training begins")

    def on_epoch_begin(self, model):
        print(f"epoch {self.epoch} begins")

    def on_epoch_end(self, model):
        loss = model.get_latest_training_loss()
        self.losses.append(loss - self.previous)
        self.previous = loss
        print(f"epoch {self.epoch}: loss {self.losses[-1]:.0f}")
        self.epoch += 1

    def on_train_end(self, model):
        print("training ends")


class EpochSaver(CallbackAny2Vec):
    """Save the model after each epoch."""

    def __init__(self, prefix):
        self.prefix, self.epoch = prefix, 0

    def on_epoch_end(self, model):
        model.save(f"{self.prefix}_{self.epoch}.model")
        self.epoch += 1


with tempfile.TemporaryDirectory() as folder:
    loss, saver = LossLogger(), EpochSaver(f"{folder}/epoch")
    model = Word2Vec(
        sentences, vector_size=40, sg=1, epochs=4, min_count=5, workers=1, compute_loss=True, callbacks=[loss, saver]
    )
    first, last = (Word2Vec.load(f"{folder}/epoch_{epoch}.model") for epoch in (0, 3))
assert len(loss.losses) == 4
assert loss.losses[-1] < loss.losses[0]
assert not (first.wv.vectors == last.wv.vectors).all()
assert (last.wv.vectors == model.wv.vectors).all()
