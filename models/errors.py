"""The errors of models: each derives from `ModelsError` and from the matching builtin."""


class ModelsError(Exception):
    """The base class of all errors that `models` raises."""


class PretrainedError(ModelsError, OSError):
    """A model's folder is missing, damaged or cannot be written, or it holds something else."""


class NetworkError(ModelsError, TypeError):
    """A custom network has wrong inputs or outputs."""


class SettingError(ModelsError, ValueError):
    """A setting of a model or a table of states is an unknown name or is out of range."""
