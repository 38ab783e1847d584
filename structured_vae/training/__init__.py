"""The parts of a training: batches, the base class of trainings, checkpoints, records.

Stands on evaluation and all below; the kinds of VAE derive their trainings from it.
"""
