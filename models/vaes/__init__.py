"""One file for each kind of VAE: an encoder, a decoder and the distribution of z."""
