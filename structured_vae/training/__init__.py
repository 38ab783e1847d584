"""What a training step and an epoch pass through: batches, a module for each model, checkpoints, records, pictures.

Stands on evaluation and all below; runs put it together.
"""
