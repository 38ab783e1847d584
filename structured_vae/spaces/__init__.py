"""Sets of states with an argmax, behind one protocol.

A space can be passed wherever a solver of pairwise problems can. This folder imports only small
files of the root; posteriors and all higher layers may import it. `registry` has the names of
configurations. The public names are listed in `__init__.pyi` and imported on first use, so that
the registry loads no torch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
