"""Operators for torch: autograd, `torch.func`, `torch.compile`, exports and traces.

Stands on the errors and `models.traced`; every folder of `structured_vae` may import it.
"""
