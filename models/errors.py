"""The errors of models: each is ours and also the builtin that it resembles."""


class ModelsError(Exception):
    """The base of the errors that models raises on purpose."""


class PretrainedError(ModelsError, OSError):
    """A folder with a model is missing or damaged, holds something else, or cannot be written."""


class NetworkError(ModelsError, TypeError):
    """A network of one's own does not take or give what it has to."""


class SettingError(ModelsError, ValueError):
    """No model, or table of states, can be made with such settings: an unknown name, a number out of range."""
