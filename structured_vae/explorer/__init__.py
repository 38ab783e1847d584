"""An interactive page in the browser for a trained VAE; needs the extra `explorer`.

This package imports runs; only the commands import this package.

The public names are listed in `__init__.pyi` and imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
