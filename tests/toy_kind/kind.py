"""The kind `toy`."""

import torch
from errors import RunError
from evaluation.quantities import Evaluation, average

from ..kind import Kind
from ..options import training_options
from .training import ToyTraining, ToyVAE


class ToyKind(Kind):
    """Pixels that are independent of each other."""

    vae = ToyVAE

    def networks(self, config, pixels):
        vae = ToyVAE(pixels)
        torch.nn.init.constant_(vae.logits, torch.logit(torch.tensor(config.brightness)))
        return vae

    def pixels(self, weights):
        return len(weights["logits"])

    def training(self, config, vae, estimator):
        return ToyTraining(vae, training_options(config))

    def evaluate(self, question):
        with torch.no_grad():
            costs = torch.cat([question.vae.cost(batch[0]) for batch in question.batches])
        return Evaluation({"bound": average(costs, "exact", "-log p(x)")}, len(costs))

    def shown(self, vae):
        raise RunError("has no states that the explorer could show")


KIND = ToyKind()
