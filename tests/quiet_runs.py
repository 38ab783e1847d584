"""Trainings without a progress bar, which would take as long as the epochs of a tiny model."""

from functools import partial

import structured_vae

train = partial(structured_vae.train, progress=False)
resume = partial(structured_vae.resume, progress=False)
