"""The model card of an exported model: README.md, in the format of the Hugging Face Hub."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

LIBRARY: Final = "structured-vae"
TASK: Final = "unconditional-image-generation"


@dataclass(frozen=True)
class Figure:
    """A measured number on a model card.

    Attributes:
        name: the name of the quantity, such as "bound".
        value: average over the images, in nats; or a share or a count.
        standard_error: standard error over the images; None if it was not stored.
        meaning: what the number is, and how it was measured.
    """

    name: str
    value: float
    standard_error: float | None
    meaning: str


@dataclass(frozen=True)
class ModelCard:
    """The contents of a model card beyond the networks themselves.

    Attributes:
        title: the heading.
        license: the licence's identifier on the Hugging Face Hub, such as "mit" or "cc-by-4.0".
        dataset: the training data in words; "" if it is not known.
        hub_dataset: the data set's identifier on the Hugging Face Hub; "" for none.
        measured_on: the images on which the figures were measured, in words.
        figures: the measured numbers.
        facts: sentences on how the model was trained.

    Example:
        >>> card = ModelCard(title="Fifteen bits", license="cc-by-4.0")
        >>> card.text("DiscreteVAE", {"n": 15}, "vae.sample(4, torch.Generator())").splitlines()[:3]
        ['---', 'library_name: structured-vae', 'license: cc-by-4.0']
    """

    title: str = "A VAE with a discrete latent space"
    license: str = "mit"
    dataset: str = ""
    hub_dataset: str = ""
    measured_on: str = ""
    figures: tuple[Figure, ...] = ()
    facts: tuple[str, ...] = ()

    def text(
        self, model: str, arguments: Mapping[str, Any], usage: str, custom: bool = False
    ) -> str:
        """Return the text of the model card.

        Args:
            model: the name of the model's class.
            arguments: the arguments of its networks.
            usage: a line of Python that uses a model called `vae`.
            custom: whether the model has custom networks, whose code the reader must provide.
        """
        front = yaml.safe_dump(self._front_matter(model), sort_keys=False, allow_unicode=True)
        sections = [
            f"---\n{front}---",
            f"# {self.title}",
            self._what(model, arguments),
            _snippet(model, usage, custom),
        ]
        if self.figures:
            sections.append(
                f"## Measured\n\nAverages over {self.measured_on}, in nats per image; shares and "
                f"counts have no unit.\n\n{self._table()}"
            )
        if self.facts:
            facts = "\n".join(f"- {fact}" for fact in self.facts)
            sections.append(f"## How it was made\n\n{facts}")
        sections.append(f"## Licence\n\n`{self.license}`. The training images have separate terms.")
        return "\n\n".join(sections) + "\n"

    def _front_matter(self, model: str) -> dict[str, Any]:
        front: dict[str, Any] = {
            "library_name": LIBRARY,
            "license": self.license,
            "pipeline_tag": TASK,
            "tags": [LIBRARY, "variational-autoencoder", "discrete-latent-variables"],
        }
        if self.hub_dataset:
            front["datasets"] = [self.hub_dataset]
        if self.figures:
            result = {
                "task": {"type": TASK},
                "dataset": {"type": self.hub_dataset or self.dataset, "name": self.measured_on},
                "metrics": [
                    {"type": figure.name, "value": figure.value} for figure in self.figures
                ],
            }
            front["model-index"] = [{"name": self.title, "results": [result]}]
        return front

    def _what(self, model: str, arguments: Mapping[str, Any]) -> str:
        sentence = f"A `{model}` of the Python package `{LIBRARY}`"
        if self.dataset:
            sentence += f", trained on {self.dataset}"
        rows = "\n".join(f"| {name} | {value} |" for name, value in arguments.items())
        return f"{sentence}.\n\n| networks | |\n|---|---|\n{rows}"

    def _table(self) -> str:
        lines = ["| figure | value | standard error | meaning |", "|---|---|---|---|"]
        for figure in self.figures:
            error = ""
            if figure.standard_error is not None:
                error = f"{figure.standard_error:.3f}"
            lines.append(f"| {figure.name} | {figure.value:.3f} | {error} | {figure.meaning} |")
        return "\n".join(lines)


def _snippet(model: str, usage: str, custom: bool) -> str:
    argument = ""
    explanation = ""
    if custom:
        argument = ", model=networks"
        explanation = (
            "\nThe folder holds the weights but not the code of the networks: `networks` is a "
            f"`{model}` made of the classes above, which you get from their author.\n"
        )
    return f"""## Use it
{explanation}
```python
import torch
from models import {model}  # from the package {LIBRARY}

# FOLDER is the folder of this file. Loading it unpickles nothing.
vae = {model}.from_pretrained("FOLDER"{argument})
{usage}
```

For a model on the Hugging Face Hub, `FOLDER` is the folder that
`huggingface_hub.snapshot_download("USER/NAME")` returns."""
