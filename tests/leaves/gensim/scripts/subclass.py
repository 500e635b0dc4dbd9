"""A model with a corpus, a training loop and attributes of its own, as in packages that embed regions or products."""

import pickle
import random

from gensim.models import Word2Vec
from gensim.models.callbacks import CallbackAny2Vec


class Losses(CallbackAny2Vec):
    """Keeps the loss after each epoch."""

    def __init__(self):
        self.losses = []

    def on_epoch_end(self, model):
        self.losses.append(model.get_latest_training_loss())


class Regions(Word2Vec):
    """Learns from sets, which it shuffles before each round."""

    def __init__(self, sets, window_size=5, threads=1, **options):
        self.sets, self.trained, self.rounds = sets, False, []
        super().__init__(window=window_size, workers=threads, min_count=1, **options)

    def train(self, rounds=2, rate=0.05):
        """Train, with a smaller rate in each round."""
        for number in range(rounds):
            for one in self.sets:
                random.shuffle(one)
            losses = Losses()
            super().build_vocab(self.sets, update=number > 0)
            super().train(
                self.sets, total_examples=len(self.sets), epochs=1, callbacks=[losses], compute_loss=True,
                start_alpha=rate / (number + 1),
            )  # fmt: skip
            self.rounds.append(losses.losses[-1])
        self.trained = True

    def embedding(self, region):
        """Return the vector of a region."""
        try:
            return self.wv[region]
        except KeyError:
            raise ValueError(f"{region} is unknown") from None


random.seed(2)
places = [[f"chr{kind}_{place}" for place in range(30)] for kind in range(4)]
model = Regions([random.sample(random.choice(places), 8) for _ in range(300)], vector_size=16, seed=42)
model.train(rounds=3)
print("loss by round:", [round(loss) for loss in model.rounds])
assert model.embedding("chr1_3").shape == (16,)
model.save("regions.model")
for again in (Regions.load("regions.model"), pickle.loads(pickle.dumps(model))):
    assert type(again) is Regions
    assert again.trained
    assert len(again.rounds) == 3
    assert again.sets == model.sets
    again.train(rounds=1)
    assert len(again.rounds) == 4
