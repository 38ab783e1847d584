from .decoder import BinaryDecoder, CategoricalDecoder, DecodedStates, Decoder, Flips, Neighbourhood
from .encoders.encoder import Encoder
from .encoders.registry import BIT_ENCODERS, ENCODERS, encoder_name
from .layers import train_mixed
from .own_networks import FastPaths, NetworkDecoder, NetworkEncoder, StatesOfNetwork

__all__ = [
    "BIT_ENCODERS",
    "ENCODERS",
    "BinaryDecoder",
    "CategoricalDecoder",
    "DecodedStates",
    "Decoder",
    "Encoder",
    "FastPaths",
    "Flips",
    "Neighbourhood",
    "NetworkDecoder",
    "NetworkEncoder",
    "StatesOfNetwork",
    "encoder_name",
    "train_mixed",
]
