r"""
Read words under noise
======================

This example reads words from noisy pictures of letters. A single letter is often unreadable, so the
model reads whole words with a *conditional random field* (CRF). A small network scores each letter,
and a table scores which letter follows which. Both are learnt together from the exact likelihood.
"""

# %%
# Data
# ----
#
# We draw words in a plain font, with 12 by 10 pixels per letter. Each letter is shifted by up to
# one pixel, and gets noise. The code below only makes these pictures; the model begins in the next
# section.

import matplotlib.pyplot as plt
import torch
from PIL import Image, ImageDraw, ImageFont

from structured_vae import LinearChainCRF

TEXT = """
river water stone tree earth winter summer storm thunder rain snow light night morning evening mountain valley forest
meadow garden flower silver golden copper iron letter paper ink reader writer story poem song music dancer painter
window door table mirror candle kitchen bread butter sugar salt pepper onion carrot tomato
"""
WORDS = TEXT.split()
ALPHABET = sorted({*"".join(WORDS)})
HEIGHT, WIDTH, LONGEST = 12, 10, max(map(len, WORDS))
FONT = ImageFont.load_default(size=14)
generator = torch.Generator().manual_seed(0)


def drawn(letter):
    picture = Image.new("L", (WIDTH, HEIGHT))
    ImageDraw.Draw(picture).text((WIDTH / 2, HEIGHT / 2), letter, fill=255, font=FONT, anchor="mm")
    return torch.tensor(list(picture.tobytes())).reshape(HEIGHT, WIDTH) / 255


LETTERS = torch.stack([drawn(letter) for letter in ALPHABET])


def written(count):
    """Pictures `[count, longest, height, width]`, tags, and a mask that ends with the word."""
    words = [WORDS[i] for i in torch.randint(len(WORDS), (count,), generator=generator).tolist()]
    mask = torch.arange(LONGEST) < torch.tensor([len(word) for word in words])[:, None]
    tags = torch.zeros(count, LONGEST, dtype=torch.long)
    for row, word in zip(tags, words, strict=True):
        row[: len(word)] = torch.tensor([ALPHABET.index(letter) for letter in word])
    pictures = LETTERS[tags]
    for axis in (-2, -1):
        shifts = torch.randint(-1, 2, (count, LONGEST, 1, 1), generator=generator)
        pictures = sum((shifts == by) * pictures.roll(by, axis) for by in (-1, 0, 1))
    noise = 0.33 * torch.randn(pictures.shape, generator=generator)
    return (pictures + noise) * mask[..., None, None], tags, mask


train, test = written(1000), written(400)
print(f"{len(ALPHABET)} letters, {len(WORDS)} words")

# %%
# Two readers
# -----------
#
# Both readers have the same linear network, which returns a score for each letter of the alphabet.
# The first reader takes a softmax of these scores, letter by letter. The second one passes them to
# ``LinearChainCRF``. A mask says how long each word is.


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Flatten(2), torch.nn.Linear(HEIGHT * WIDTH, len(ALPHABET)))


def fit(net, loss, *further):
    adam = torch.optim.Adam([*net.parameters(), *further], lr=0.02)
    for _ in range(200):
        rows = torch.randint(1000, (64,), generator=generator)
        pictures, tags, mask = (part[rows] for part in train)
        adam.zero_grad()
        loss(net(pictures), tags, mask).backward()
        adam.step()


alone = network()
with_crf = network()
crf = LinearChainCRF(len(ALPHABET), batch_first=True)
fit(alone, lambda scores, tags, mask: torch.nn.functional.cross_entropy(scores[mask], tags[mask]))
fit(with_crf, lambda scores, tags, mask: -crf(scores, tags, mask, "token_mean"), *crf.parameters())

# %%
# How well they read
# ------------------
#
# ``crf.solve`` returns the best word, as ``crf.decode`` does, with a proof that no other word
# scores more. The CRF reads far more of the words, because it knows which letters follow each
# other.

pictures, tags, mask = test
with torch.no_grad():
    by_letters = alone(pictures).argmax(dim=-1)
    scores = with_crf(pictures)
    solution = crf.solve(scores, mask)
    probabilities = crf.marginals(scores, mask)
by_words = solution.labels
for name, read in (("letter by letter", by_letters), ("as words", by_words)):
    right = (read == tags) | ~mask
    right_letters = right[mask].float().mean()
    right_words = right.all(dim=1).float().mean()
    print(f"{name}: {right_letters:.1%} of letters, {right_words:.1%} of words are right")
print(f"proved: {solution.optimal.float().mean():.0%}")

# %%
# Below each picture, the first line is read letter by letter, and the second line by the CRF. Red
# letters are wrong. In the second line, the size of a letter is its marginal probability: small
# letters are uncertain.


def text(axes, read, row, y, probabilities=None):
    for place in range(int(mask[row].sum())):
        tag = int(read[row, place])
        wrong = tag != int(tags[row, place])
        size = 13 if probabilities is None else 5 + 10 * float(probabilities[row, place, tag])
        axes.text(
            (place + 0.5) * WIDTH,
            y,
            ALPHABET[tag],
            ha="center",
            va="center",
            fontsize=size,
            color="C3" if wrong else "black",
        )


interesting = ((by_letters != tags) & mask).any(dim=1).nonzero()[:6, 0].tolist()
figure, panels = plt.subplots(3, 2, figsize=(8, 5.4))
for axes, row in zip(panels.flat, interesting, strict=True):
    length = int(mask[row].sum())
    axes.imshow(
        torch.cat([*pictures[row, :length]], dim=1),
        cmap="gray_r",
        extent=(0, length * WIDTH, HEIGHT, 0),
    )
    text(axes, by_letters, row, HEIGHT + 5)
    text(axes, by_words, row, HEIGHT + 13, probabilities)
    axes.set(xlim=(0, LONGEST * WIDTH), ylim=(HEIGHT + 18, 0))
    axes.axis("off")
figure.tight_layout()
