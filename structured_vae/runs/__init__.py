"""Operations on a run folder: train, resume, evaluate, export and measure gradients.

`folder/` reads and writes the files of a run. `trainer/` configures Lightning's trainer. The other
files build the objects that a configuration names. This package depends on the kinds of VAE and the
packages below them; the explorer, the reproduction and the commands use it.

The public names are listed in `__init__.pyi` and imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
