"""How many examples a property test draws."""

from hypothesis import settings


def examples(count):
    """Return settings with `count` examples under the profile `search`, else with half of them.

    The profile says the share: see `conftest.py`.
    """
    share = settings.default.max_examples / 100
    return settings(max_examples=max(1, round(count * share)))
