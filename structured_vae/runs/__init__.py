"""A run folder, and what is done with one: configure, assemble, train, evaluate, export, measure gradients.

Stands on training, evaluation and all below; the explorer, the reproduction and the commands use
it.
"""
