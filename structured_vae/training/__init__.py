"""What a training step and an epoch pass through: batches, the base of all trainings, checkpoints, records.

Stands on evaluation and all below; the kinds of VAE derive their trainings from it.
"""
