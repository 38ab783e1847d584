"""The model card of a folder that can be handed on: README.md, as the Hugging Face Hub reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

LIBRARY: Final = "structured-vae"
TASK: Final = "unconditional-image-generation"


@dataclass(frozen=True)
class Figure:
    """One measured number.

    Attributes:
        name: such as "bound".
        value: average over the images, in nats; or a count.
        standard_error: over the images; None where it was not kept.
        meaning: how it was found, and what it is.
    """

    name: str
    value: float
    standard_error: float | None
    meaning: str


@dataclass(frozen=True)
class ModelCard:
    """What a model card says beside the networks themselves.

    Attributes:
        title: heading.
        license: identifier of the Hugging Face Hub, such as "mit" or "cc-by-4.0".
        dataset: what the model was trained on, in words; "" where that is not known.
        hub_dataset: its identifier on the Hugging Face Hub; "" for none.
        measured_on: images of the figures, in words.
        figures: what was measured.
        facts: sentences on how the model was made.

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

    def text(self, model: str, arguments: Mapping[str, Any], usage: str, own: bool = False) -> str:
        """The whole file.

        Args:
            model: name of the class.
            arguments: of its networks.
            usage: a line of Python that uses a model called `vae`.
            own: whether there are networks that are not ours, so that a reader has to bring their
                code.
        """
        front = yaml.safe_dump(self._front_matter(model), sort_keys=False, allow_unicode=True)
        parts = [
            f"---\n{front}---",
            f"# {self.title}",
            self._what(model, arguments),
            _snippet(model, usage, own),
        ]
        if self.figures:
            parts.append(
                f"## Measured\n\nAverages over {self.measured_on}, in nats an image but for shares and counts.\n\n"
                f"{self._table()}"
            )
        if self.facts:
            parts.append("## How it was made\n\n" + "\n".join(f"- {fact}" for fact in self.facts))
        parts.append(
            f"## Licence\n\n`{self.license}`. The images it was trained on have terms of their own."
        )
        return "\n\n".join(parts) + "\n"

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
                "metrics": [{"type": each.name, "value": each.value} for each in self.figures],
            }
            front["model-index"] = [{"name": self.title, "results": [result]}]
        return front

    def _what(self, model: str, arguments: Mapping[str, Any]) -> str:
        rows = "\n".join(f"| {name} | {value} |" for name, value in arguments.items())
        of = f", trained on {self.dataset}" if self.dataset else ""
        return f"A `{model}` of the Python package `{LIBRARY}`{of}.\n\n| networks | |\n|---|---|\n{rows}"

    def _table(self) -> str:
        rows = [
            f"| {each.name} | {each.value:.3f} | "
            f"{'' if each.standard_error is None else f'{each.standard_error:.3f}'} | {each.meaning} |"
            for each in self.figures
        ]
        return "\n".join(
            ["| figure | value | standard error | meaning |", "|---|---|---|---|", *rows]
        )


def _snippet(model: str, usage: str, own: bool) -> str:
    given = ", model=networks" if own else ""
    needed = (
        "\nThe folder has the weights alone, not the code of the networks: `networks` is a "
        f"`{model}` made of the classes above, from wherever their author publishes them.\n"
        if own
        else ""
    )
    return f"""## Use it
{needed}
```python
import torch
from models import {model}  # of {LIBRARY}

vae = {model}.from_pretrained("FOLDER"{given})  # the folder of this file; nothing in it is unpickled
{usage}
```

From the Hugging Face Hub: `FOLDER` is what `huggingface_hub.snapshot_download("USER/NAME")` returns."""
