"""Networks and training of the kind `toy`."""

import torch
from torch.nn.functional import binary_cross_entropy_with_logits
from training.base import Training

from models import Pretrained


class ToyVAE(Pretrained):
    """One logit for each pixel."""

    usage = "vae.logits.sigmoid()"

    def __init__(self, pixels: int):
        super().__init__()
        self.logits = torch.nn.Parameter(torch.zeros(pixels))

    @property
    def arguments(self):
        return {"pixels": len(self.logits)}

    @classmethod
    def of_arguments(cls, pixels):
        return cls(pixels)

    def cost(self, x):
        logits = self.logits.expand_as(x)
        return binary_cross_entropy_with_logits(logits, x, reduction="none").sum(dim=-1)


class ToyTraining(Training):
    """Minimises -log p(x)."""

    monitored = "validation/bound"

    def __init__(self, vae, options):
        super().__init__(options)
        self.vae = vae

    def _loss(self, x, *labelled):
        cost = self.vae.cost(x).mean()
        return cost, {"cost": cost.detach()}

    def _columns(self, x, classes):
        return {"bound": self.vae.cost(x)}

    def _summary(self, batches):
        return {"bound": torch.cat([batch["bound"] for batch in batches]).mean().item()}

    def reconstructed(self, x, noise):
        return self.vae.logits.sigmoid().expand_as(x)

    def samples(self, noise):
        return self.vae.logits.sigmoid()[None], 1
