"""Gradient estimators for discrete latent variables, behind one signature.

Stands on objectives and posteriors; the layer, evaluation and all above may import it. No estimator
needs another's file but for what a family shares. `registry` has the names of configurations. The
public names are listed in `__init__.pyi` and imported on first use, so that the registry loads no
torch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
