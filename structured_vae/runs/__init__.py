"""Operations on a run folder: train, resume, evaluate, export and measure gradients.

`folder/` reads and writes the files of a run. `trainer/` configures Lightning's trainer. The other
files build the objects that a configuration names. This package depends on the kinds of VAE and the
packages below them; the explorer, the reproduction and the commands use it.
"""
