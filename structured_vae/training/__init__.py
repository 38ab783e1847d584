"""The parts of a training: batches, the base class of trainings, checkpoints, records.

Stands on evaluation and all below; the kinds of VAE derive their trainings from it.

The public names are listed in `__init__.pyi` and imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
