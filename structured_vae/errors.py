"""The errors of structured_vae: each is ours and also the builtin that it resembles."""

from models.arguments import shortened as shortened


class StructuredVAEError(Exception):
    """The base of every error that structured_vae raises on purpose."""


class DataError(StructuredVAEError, ValueError):
    """A data file, or what was asked of the data, is not as it has to be."""


class DataNotFoundError(FileNotFoundError, DataError):
    """A data file is not where it was looked for."""


class DataDownloadError(OSError, DataError):
    """A data file could not be downloaded to, or kept in, the per-user cache."""


class UnknownDataNameError(DataError, LookupError):
    """No dataset, binarisation or split has this name."""


class ConfigError(StructuredVAEError, ValueError):
    """A setting of a training has a value that cannot work, by itself or with other settings."""


class DivergedError(StructuredVAEError, ArithmeticError):
    """A training has left the numbers that can be computed with."""


class EstimatorError(StructuredVAEError, ValueError):
    """A gradient estimator cannot take these potentials, or an option of it cannot work."""


class StructureError(StructuredVAEError, ValueError):
    """A structure of states cannot do what is asked, or does not keep its promise."""


class StalledWarning(UserWarning):
    """No argmax has moved for many steps, or none can move, so that nothing is learnt."""


class FrozenWarning(UserWarning):
    """An encoder or decoder has no parameter to learn, and stays as it is."""


class SkippedWarning(UserWarning):
    """A picture could not be drawn, or a logger could not be called; the training continued."""


class RunError(StructuredVAEError, ValueError):
    """A run folder is missing, taken, finished or damaged."""


class TerminatedError(RunError):
    """A training was asked to end, by SIGTERM, and did; it can be resumed."""


class MissingPackageError(StructuredVAEError, ImportError):
    """A package that is not part of the plain installation is needed."""


class IntruderError(StructuredVAEError, ImportError):
    """Another package of the same name stands in the way of one of ours."""
