"""The encoder of bits with pairwise scores of any sign."""

from typing import ClassVar

from .encoder import Encoder


class GeneralEncoder(Encoder):
    """An encoder whose pairwise scores are outputs of the network, of any sign."""

    has_pairs: ClassVar[bool] = True
