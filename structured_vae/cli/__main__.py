"""`python -m structured_vae.cli`."""

from .commands import main

if __name__ == "__main__":
    main()
