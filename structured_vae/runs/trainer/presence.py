"""Check that the folder of a run still exists while the run trains."""

from __future__ import annotations

import lightning.pytorch as pl

from ...errors import RunError
from ...training.between_steps import BetweenSteps
from ..folder import Run


def require_present(run: Run) -> None:
    """Raise unless a run's folder is where it was when its training began.

    Raises:
        RunError: it was removed or moved.
    """
    if not run.config_file.is_file():
        raise RunError(
            f"{run.folder} was removed or moved during the training. The training has ended, since "
            "nothing more could be saved. If the folder was moved: structured-vae resume "
            "NEW_PLACE, or structured_vae.resume(NEW_PLACE, ...) in Python; otherwise train again"
        )


class FolderPresence(BetweenSteps):
    """End a training whose run folder was removed, so that no new folder gets half a run.

    Args:
        run: the folder.
    """

    def __init__(self, run: Run):
        self.run = run

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Check the folder before anything of the epoch is written."""
        require_present(self.run)
