"""What is done with a run folder: train, resume, evaluate, export, measure gradients.

`folder/` is its files, `trainer/` Lightning's trainer as we run it, and the files here put together
what a configuration names. Stands on the kinds of VAE and all below; the explorer, the reproduction
and the commands use it.
"""
