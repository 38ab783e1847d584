"""The wake-sleep algorithms, whose encoder follows the posterior of the model."""

from __future__ import annotations

from abc import ABC

import torch

from models.potentials import AnyPotentials

from .multi_sample import MultiSample


class FixedPosterior(MultiSample, ABC):
    """The base of algorithms whose encoder minimises E_p[-log q(z | x)] with p held fixed.

    The surrogate is this objective, so that its second derivative is right, too.
    """

    def of_encoder(
        self, log_weights: torch.Tensor, log_q: torch.Tensor, potentials: AnyPotentials
    ) -> torch.Tensor:
        """Return the terms `[batch]` that give the scores their derivatives."""
        return (self.factors(log_weights) * log_q).sum(dim=0)


class WakeWake(FixedPosterior):
    """The wake-wake algorithm: the encoder follows the posterior of the model at the images.

    Decoder and prior minimise the importance-weighted bound L_K of `MultiSample`. The encoder
    minimises KL(p(z | x) || q(z | x)) with p held fixed, which is another objective than the bound.
    Self-normalised weights estimate its gradient: a_k = -v_k. The bias is O(1/K).

    A sample costs one decode with a gradient for the decoder, and no argmax.

    Args:
        samples: K, the number of samples per image, at least 2.

    Raises:
        EstimatorError: there are fewer than 2 samples.

    References:
        Bornschein, Bengio (2015), Reweighted wake-sleep: the wake-phase update of the encoder.
        Le, Kosiorek, Siddharth, Teh, Wood (2019), Revisiting reweighted wake-sleep for models with
        stochastic control flow: the name.
    """

    other_objective = "KL(p(z | x) || q(z | x)) with p held fixed"

    def factors(self, log_weights: torch.Tensor) -> torch.Tensor:
        """Return minus the shares."""
        return -log_weights.softmax(dim=0)


class WakeSleep(FixedPosterior):
    """The wake-sleep algorithm: the encoder learns from images that the model draws.

    Decoder and prior minimise the importance-weighted bound L_K of `MultiSample`. The encoder
    minimises E_p[-log q(z | x)] over states and images of the model (the sleep phase), which is
    another objective than the bound; its gradient is unbiased. The sleep phase needs the model, so
    a training adds it, by `sleep_loss`; this estimator gives the encoder no gradient.

    A sample costs one decode with a gradient for the decoder, and no argmax. The sleep phase draws
    and encodes one image more for each image.

    Args:
        samples: K, the number of samples per image; with 1 it is the algorithm of 1995.

    Raises:
        EstimatorError: `samples` is not a whole number of at least 1.

    References:
        Hinton, Dayan, Frey, Neal (1995), The wake-sleep algorithm for unsupervised neural networks.
        Bornschein, Bengio (2015), Reweighted wake-sleep: the decoder's update by several samples.
    """

    sleeps = True
    other_objective = "-log q(z | x) over states and images that the model draws"

    def __init__(self, samples: int = 5):
        super().__init__(samples, least=1)

    def factors(self, log_weights: torch.Tensor) -> torch.Tensor:
        """Return zeros: the encoder learns in the sleep phase alone."""
        return torch.zeros_like(log_weights)


class ReweightedWakeSleep(WakeWake):
    """The reweighted wake-sleep algorithm: the encoder learns in both phases.

    It is the sum of `WakeWake` and of the sleep phase of `WakeSleep`, with equal weights.

    A sample costs one decode with a gradient for the decoder, and no argmax. The sleep phase draws
    and encodes one image more for each image.

    Args:
        samples: K, the number of samples per image, at least 2.

    Raises:
        EstimatorError: there are fewer than 2 samples.

    References:
        Bornschein, Bengio (2015), Reweighted wake-sleep, algorithm 1.
    """

    sleeps = True
    other_objective = f"the sum of {WakeWake.other_objective} and of {WakeSleep.other_objective}"
