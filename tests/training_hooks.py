"""Callbacks that act inside a training, also inside one that a command starts."""

import lightning.pytorch as pl


def at_call(hook, call, act):
    """Return a callback that calls `act` when Lightning calls a hook for the nth time."""
    calls = []

    def count(*_):
        calls.append(hook)
        if len(calls) == call:
            act()

    return at_every(hook, count)


def at_every(hook, act):
    """Return a callback that calls `act(trainer, training, ...)` whenever Lightning calls a hook."""
    callback = pl.Callback()
    setattr(callback, hook, act)
    return callback


def add_to_trainers(monkeypatch, callback):
    """Add a callback to each training that begins, for commands, which take no callbacks."""
    fit = pl.Trainer.fit

    def with_callback(trainer, *arguments, **options):
        trainer.callbacks.append(callback)
        return fit(trainer, *arguments, **options)

    monkeypatch.setattr(pl.Trainer, "fit", with_callback)
