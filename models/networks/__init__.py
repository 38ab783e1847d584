"""Encoders, decoders and the layers they consist of."""
