"""The semi-supervised training of a mixture VAE, for Lightning."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from models import MixtureVAE

from .costs import Reconstruction
from .estimators import Estimator
from .label_losses import LabelLoss
from .mixture_evaluation import mixture_columns
from .module import Training
from .recipes import whole_bound


class MixtureTraining(Training):
    """The bound of all images, and beside it a loss of the classes of a few labelled ones.

    In every step, with x of all images and (x', y) of the labelled ones,

        E_q[-log p(x | z_d, z_c)] + KL(q(z_d | x) || uniform) + KL(q(z_c | x) || N(0, 1)) + weight * loss(x', y).

    The gradient in the scores of z_d is the estimator's; that in z_c goes through the sample.

    Args:
        vae: what is trained.
        estimator: of the gradient in the scores of the classes.
        label_loss: of the labelled images; None where there are none.
        label_weight: of that loss.
        dropout: share of the pixels that are hidden from the encoder in a step, the others scaled up. The
            decoder has to explain them all, so the objective stays a bound.
        learning_rate: of Adam.
        seed: of the noise.
    """

    STYLES = 10
    """Rows of the picture of classes and styles."""

    def __init__(
        self,
        vae: MixtureVAE,
        estimator: Estimator,
        label_loss: LabelLoss | None,
        label_weight: float,
        dropout: float,
        learning_rate: float,
        seed: int,
    ):
        super().__init__(estimator, learning_rate, seed)
        self.vae = vae
        self.label_loss = label_loss
        self.label_weight = label_weight
        self.dropout = dropout

    @property
    def monitored(self) -> str:
        """The share of validation images with a wrong class, or the bound where no class is known."""
        return f"validation/{'bound' if self.label_loss is None else 'error'}"

    def _loss(self, x: torch.Tensor, *labelled: torch.Tensor) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        potentials, style = self.vae.encoder(self._seen(x))
        cost = Reconstruction(self.vae.decoder.given(style.sample(self._noise)), x)
        objective = whole_bound(cost, potentials, self.estimator.kl)
        estimate = self.estimator(potentials, objective.cost, self._noise, self.global_step)
        loss = (estimate.surrogate + objective.kl + style.kl()).mean() + estimate.tuning
        stats = {"cost": estimate.cost.mean(), **estimate.stats}
        if self.label_loss is None:
            return loss, stats
        images, classes = labelled
        scores = self.vae.encoder.scores(self._seen(images))
        label_loss = self.label_loss(scores, classes, self._noise, self.global_step).mean()
        stats["label_accuracy"] = (scores.unary.detach().argmax(dim=-1) == classes).float().mean()
        return loss + self.label_weight * label_loss, stats

    def _seen(self, x: torch.Tensor) -> torch.Tensor:
        """What the encoder sees of images in a step."""
        kept = 1 - self.dropout
        if kept == 1:
            return x
        uniform = torch.rand(x.shape, generator=self._noise, device=x.device, dtype=x.dtype)
        return x * (uniform < kept) / kept

    def _columns(self, x: torch.Tensor, classes: torch.Tensor) -> dict[str, torch.Tensor]:
        columns = mixture_columns(self.vae, x, classes, self._noise_of_evaluation)
        known = set() if self.label_loss is not None else {"accuracy", "accuracy_sampled"}
        left_out = known | {"probabilities", "minus_log_p"}
        return {name: column for name, column in columns.items() if name not in left_out}

    def _summary(self, batches: Sequence[dict[str, torch.Tensor]]) -> dict[str, float]:
        columns = {name: torch.cat([batch[name] for batch in batches]).double() for name in batches[0]}
        means = {name: column.mean().item() for name, column in columns.items()}
        error = columns["bound"].std(correction=0).item() / len(columns["bound"]) ** 0.5
        wrong = {"error": 1 - means["accuracy"]} if "accuracy" in means else {}
        return {**means, **wrong, "standard_error": error}

    def reconstructed(self, x: torch.Tensor, noise: torch.Generator) -> torch.Tensor:
        """`[count, pixels]`: each image decoded from its most probable class and a style drawn for it."""
        potentials, style = self.vae.encoder(x)
        z = torch.nn.functional.one_hot(potentials.unary.argmax(dim=-1), self.vae.n).to(x.dtype)
        logits: torch.Tensor = self.vae.decoder(z, style.sample(noise))
        return logits.sigmoid()

    def samples(self, noise: torch.Generator) -> tuple[torch.Tensor, int]:
        """A row for each of ten styles drawn from the prior, a column for each class."""
        return self.vae.grid(self.STYLES, noise), self.vae.n
