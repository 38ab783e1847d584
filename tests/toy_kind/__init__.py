"""A kind of VAE without latent variables: every pixel has a probability of its own."""
