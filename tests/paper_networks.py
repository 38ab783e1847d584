"""The paper's networks by the name of their encoder, with one size for bits and categories."""

from models import paper_vae


def paper_vae_of(encoder, size, **options):
    """The networks with so many bits, or so many categories."""
    name = "n"
    if encoder == "categorical":
        name = "k"
    return paper_vae(encoder, **{name: size}, **options)
