"""Distributions over latent states: samples, KL terms, and the argmax of perturb-and-MAP.

Stands on `models`, `solvers` and `spaces`; objectives and all above may import it. `registry` has
the names of configurations. The public names are listed in `__init__.pyi` and imported on first
use, so that the registry loads no torch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
