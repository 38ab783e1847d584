"""The quantities of `evaluate` from exported weights and images, in numpy and double precision, by nothing of ours.

Written from the formulas of the papers alone: states are enumerated, chains summed from left to
right, convolutions taken tap by tap. What is drawn is drawn by this file's own noise.
"""

import itertools
import json
import math
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file


def evaluated(folder, images, labels=None, samples=20, seed=0):
    """The mean over images `[count, pixels]` of each quantity, by name, of an exported model.

    Args:
        folder: with model.safetensors and config.json.
        images: zeros and ones, or intensities of faces in [0, 1].
        labels: `[count]` classes, or `[count, n]` attributes.
        samples: of what is not summed.
        seed: of the noise.
    """
    weights = {
        name: value.astype(np.float64)
        for name, value in load_file(Path(folder) / "model.safetensors").items()
    }
    config = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
    training = config["training"]
    noise, x = np.random.default_rng(seed), np.asarray(images, np.float64)
    if training["model"] == "mixture":
        return mixture(weights, training, x, labels, samples, noise)
    if training["model"] == "attributes":
        return attributes(weights, x, labels, samples, noise)
    if training["model"] == "quantised":
        return quantised(weights, training, x)
    kinds = {"gaussian": gaussian, "categorical": categories}
    return kinds.get(training["encoder"], bits)(weights, training, x, samples, noise)


def quantised(weights, training, x):
    """One code for each image, a factorised prior of frequencies; nothing is drawn."""
    n, k = training["n"], training["codes"]
    features = two_layers(weights, "encoder", x)
    quantiser = training["quantiser"]
    if quantiser == "fsq":
        half, offset = (k - 1) * 1.001 / 2, 0.5 * (k % 2 == 0)
        rounded = np.rint(half * np.tanh(features + np.arctanh(offset / half)) - offset)
        labels, vectors = rounded.astype(int) + k // 2, rounded / (k // 2)
    elif quantiser == "vq":
        codebook = weights["quantiser.codebook"]
        distances = features.reshape(len(x), n, 1, -1) - codebook
        labels = (distances**2).sum(axis=-1).argmin(axis=-1)
        vectors = codebook[labels].reshape(len(x), -1)
    else:
        labels = (features > 0).astype(int)
        vectors = (2 * labels - 1) / (1 if quantiser == "lfq" else math.sqrt(n))
    prior = (1 - 1e-4) * weights["frequencies"] + 1e-4 / k
    cost = bernoulli_cost(two_layers(weights, "decoder", vectors), x)
    kl = -np.log(prior[np.arange(n), labels]).sum(axis=-1)
    counts = np.stack([(labels == value).sum(axis=0) for value in range(k)], axis=-1)
    if quantiser == "vq":
        counts = counts.sum(axis=0, keepdims=True)
    share = counts / counts.sum(axis=-1, keepdims=True)
    entropy = -(share * np.log(np.where(share > 0, share, 1))).sum(axis=-1)
    columns = {"reconstruction": cost, "kl": kl, "bound": cost + kl}
    columns["bound_uniform"] = cost + n * math.log(k)
    columns |= {"usage": counts > 0, "perplexity": np.exp(entropy.mean())}
    return means(columns)


def dense(weights, name, x):
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def two_layers(weights, name, x):
    return dense(weights, f"{name}.2", np.maximum(dense(weights, f"{name}.0", x), 0))


def decoded(weights, states):
    """Logits of an image for each state, as the first layer takes them."""
    return dense(weights, "decoder.last", np.maximum(dense(weights, "decoder.first", states), 0))


def bernoulli_cost(logits, x):
    """-log p(x) of Bernoulli pixels, by the definition."""
    return -(x * log_sigmoid(logits) + (1 - x) * log_sigmoid(-logits)).sum(axis=-1)


def log_sigmoid(values):
    return -np.logaddexp(0, -values)


def log_sum(values, axis=-1):
    most = values.max(axis=axis, keepdims=True)
    return np.squeeze(most, axis) + np.log(np.exp(values - most).sum(axis=axis))


def means(columns):
    return {name: float(np.mean(column)) for name, column in columns.items()}


def over_all_states(log_weights, costs, prior):
    """Of q = exp(log_weights) / Z `[count, states]`, -log p(x | z) and the prior's scores: all by definition."""
    log_q = log_weights - log_sum(log_weights)[:, None]
    log_prior = prior - log_sum(prior)
    q = np.exp(log_q)
    columns = {"reconstruction": (q * costs).sum(1), "kl": (q * (log_q - log_prior)).sum(1)}
    columns["bound"] = columns["reconstruction"] + columns["kl"]
    columns["minus_log_p"] = -log_sum(log_prior - costs)
    columns["gap"] = columns["bound"] - columns["minus_log_p"]
    return columns


def autoregressive(logits, states):
    """log p(z) `[states]` from the logit of each bit, given those before it."""
    return (states * log_sigmoid(logits) + (1 - states) * log_sigmoid(-logits)).sum(axis=-1)


def linear_logits(weights, states, name="prior.network"):
    return states @ np.tril(weights[f"{name}.weight"], -1).T + weights[f"{name}.bias"]


def made_logits(weights, states):
    """Bit v sees hidden units of degree at most v; a unit of degree d sees the first d bits."""
    n = states.shape[1]
    hidden = len(weights["prior.network.hidden.0.bias"])
    degrees = np.arange(hidden) % max(n - 1, 1) + 1
    seen, units, layer = np.arange(n) + 1, states, 0
    while f"prior.network.hidden.{layer}.weight" in weights:
        mask = degrees[:, None] >= seen[None]
        weight = weights[f"prior.network.hidden.{layer}.weight"] * mask
        units = np.maximum(units @ weight.T + weights[f"prior.network.hidden.{layer}.bias"], 0)
        seen, layer = degrees, layer + 1
    last = weights["prior.network.last.weight"] * (np.arange(n)[:, None] >= degrees[None])
    through = units @ last.T + weights["prior.network.last.bias"]
    return linear_logits(weights, states, "prior.network.direct") + through


def normalised(weights, name, x):
    centred = x - x.mean(axis=-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
    return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def transformer_logits(weights, states, heads=4):
    """Each state by itself, position by position, with a softmax over the earlier positions."""
    name = "prior.network"
    n, size = states.shape[1], len(weights[f"{name}.start"])
    values = dense(weights, f"{name}.embedding", states[:, :-1, None])
    first = np.broadcast_to(weights[f"{name}.start"], (len(states), 1, size))
    h = np.concatenate([first, values], axis=1) + weights[f"{name}.positions"]
    layer = 0
    while f"{name}.layers.{layer}.up.weight" in weights:
        inside = f"{name}.layers.{layer}"
        parts = dense(
            weights, f"{inside}.projections", normalised(weights, f"{inside}.before_attention", h)
        )
        queries, keys, mixed_in = np.split(parts, 3, axis=-1)
        width, mixed = size // heads, np.zeros_like(h)
        for head in range(heads):
            of_head = slice(head * width, (head + 1) * width)
            for v in range(n):
                scores = (queries[:, v, None, of_head] * keys[:, : v + 1, of_head]).sum(-1)
                share = np.exp(scores / math.sqrt(width))
                share /= share.sum(axis=1, keepdims=True)
                mixed[:, v, of_head] = (share[..., None] * mixed_in[:, : v + 1, of_head]).sum(1)
        h = h + dense(weights, f"{inside}.attended", mixed)
        up = dense(weights, f"{inside}.up", normalised(weights, f"{inside}.before_perceptron", h))
        erf = np.vectorize(math.erf)
        h = h + dense(weights, f"{inside}.down", up * (1 + erf(up / math.sqrt(2))) / 2)
        layer += 1
    return dense(weights, f"{name}.last", normalised(weights, f"{name}.norm", h))[..., 0]


LOGITS = {"linear": linear_logits, "made": made_logits, "transformer": transformer_logits}


def bit_by_bit(unary, pairwise, edges, states, costs, prior, samples, noise):
    """An autoregressive posterior: each bit given those before it; means over samples."""
    log_prior = prior - log_sum(prior)
    logits = np.repeat(unary[:, None], len(states), axis=1)
    for e, (i, j) in enumerate(edges):
        logits[..., j] += pairwise[:, e, None] * states[:, i]
    log_q = np.stack([autoregressive(rows, states) for rows in logits])
    chosen = np.stack([noise.choice(len(states), size=samples, p=np.exp(row)) for row in log_q])
    reconstruction = np.take_along_axis(costs, chosen, axis=1).mean(axis=1)
    kl = np.take_along_axis(log_q - log_prior, chosen, axis=1).mean(axis=1)
    return means(
        {
            "reconstruction": reconstruction,
            "kl": kl,
            "bound": reconstruction + kl,
            "minus_log_p": -log_sum(log_prior - costs),
        }
    )


def bits(weights, training, x, samples, noise):
    """Independent, supermodular or general bits, of a Gibbs posterior or of perturb-and-MAP."""
    n, outputs = training["n"], two_layers(weights, "encoder.network", x)
    unary, pairwise = outputs[:, :n], outputs[:, n:]
    if training["encoder"] == "supermodular":
        pairwise = np.logaddexp(0, pairwise)
    reach = training["bandwidth"] or n
    edges = (
        [(i, j) for i in range(n) for j in range(i + 1, min(n, i + reach + 1))]
        if pairwise.size
        else []
    )
    if n > 20:
        return chain(weights, unary, pairwise, x, samples, noise)
    states = np.array(list(itertools.product((0.0, 1.0), repeat=n)))
    pairs = np.array([[z[i] * z[j] for i, j in edges] for z in states]).reshape(
        len(states), len(edges)
    )
    scores = unary @ states.T + pairwise @ pairs.T
    logits = decoded(weights, np.concatenate([states, 1 - states], axis=1))
    costs = np.stack([bernoulli_cost(logits, image) for image in x])
    prior = states @ weights.get("prior.unary", np.zeros(n))
    prior += pairs @ weights["prior.pairwise"] if "prior.pairwise" in weights else 0
    if training["prior"] in LOGITS:
        prior = autoregressive(LOGITS[training["prior"]](weights, states), states)
    if training["posterior"] == "autoregressive":
        return bit_by_bit(unary, pairwise, edges, states, costs, prior, samples, noise)
    exact = over_all_states(scores, costs, prior)
    alone = over_all_states(unary @ states.T, costs, prior)["kl"]
    if training["estimator"] != "direct" or not edges:
        return means({**exact, "kl_surrogate": alone})
    drawn, kl = [], []
    for row, score in enumerate(scores):
        chosen = np.array(
            [(score + states @ noise.logistic(size=n)).argmax() for _ in range(samples)]
        )
        counts = np.bincount(chosen)
        share = counts[counts > 0] / samples
        drawn.append(costs[row, chosen].mean())
        kl.append(n * math.log(2) + (share * np.log(share)).sum())
    found = {
        "reconstruction": drawn,
        "kl": kl,
        "kl_surrogate": alone,
        "minus_log_p": exact["minus_log_p"],
    }
    return means(
        {
            **found,
            "bound": np.add(drawn, kl),
            "gibbs_bound": exact["bound"],
            "gibbs_kl": exact["kl"],
        }
    )


def chain(weights, unary, pairwise, x, samples, noise):
    """Bits of which each is coupled to the next: sums from the right, then draws from the left."""
    count, n = unary.shape
    ahead = np.zeros((count, n, 2))  # log of the sum over all after i, given z_i
    for i in range(n - 2, -1, -1):
        for value in (0, 1):
            on = unary[:, i + 1] + value * pairwise[:, i] + ahead[:, i + 1, 1]
            ahead[:, i, value] = np.logaddexp(ahead[:, i + 1, 0], on)
    log_z = np.logaddexp(ahead[:, 0, 0], unary[:, 0] + ahead[:, 0, 1])
    before = np.exp(log_sigmoid(unary[:, 0] + ahead[:, 0, 1] - ahead[:, 0, 0]))  # P(z_0 = 1)
    score = unary[:, 0] * before
    for i in range(1, n):
        given = [
            np.exp(
                log_sigmoid(
                    unary[:, i] + value * pairwise[:, i - 1] + ahead[:, i, 1] - ahead[:, i, 0]
                )
            )
            for value in (0, 1)
        ]
        both = before * given[1]
        score += pairwise[:, i - 1] * both
        before = both + (1 - before) * given[0]
        score += unary[:, i] * before
    kl = score - log_z + n * math.log(2)
    costs, ratios = [], []
    for _ in range(samples):
        z = np.zeros((count, n))
        for i in range(n):
            field = (
                unary[:, i]
                + (pairwise[:, i - 1] * z[:, i - 1] if i else 0)
                + ahead[:, i, 1]
                - ahead[:, i, 0]
            )
            z[:, i] = noise.random(count) < np.exp(log_sigmoid(field))
        log_q = (unary * z).sum(1) + (pairwise * z[:, :-1] * z[:, 1:]).sum(1) - log_z
        costs.append(bernoulli_cost(decoded(weights, np.concatenate([z, 1 - z], axis=1)), x))
        ratios.append(-costs[-1] - n * math.log(2) - log_q)
    reconstruction = np.mean(costs, axis=0)
    log_p = log_sum(np.array(ratios), axis=0) - math.log(samples)
    return means(
        {
            "reconstruction": reconstruction,
            "kl": kl,
            "bound": reconstruction + kl,
            "minus_log_p": -log_p,
        }
    )


def categories(weights, training, x, samples, noise):
    """One variable or several, alone, with a score for equal values, or with a table for each pair."""
    k, variables = training["k"], training["variables"]
    outputs = two_layers(weights, "encoder.network", x)
    labels = np.array(list(itertools.product(range(k), repeat=variables)))
    hot = np.eye(k)[labels].reshape(len(labels), -1)
    scores, pairwise = outputs[:, : hot.shape[1]] @ hot.T, outputs[:, hot.shape[1] :]
    if training["couplings"] != "none":
        reach = training["bandwidth"] or variables
        edges = [
            (i, j) for i in range(variables) for j in range(i + 1, min(variables, i + reach + 1))
        ]
        for e, (i, j) in enumerate(edges):
            if training["couplings"] == "potts":
                scores += pairwise[:, e, None] * (labels[:, i] == labels[:, j])
            else:
                table = pairwise[:, e * k**2 : (e + 1) * k**2]
                scores += table[:, labels[:, i] * k + labels[:, j]]
    logits = decoded(weights, hot)
    costs = np.stack([bernoulli_cost(logits, image) for image in x])
    return means(
        over_all_states(scores, costs, hot @ weights.get("prior.unary", np.zeros(hot.shape[1])))
    )


def normal_kl(mean, log_variance):
    return (mean**2 + np.exp(log_variance) - 1 - log_variance).sum(axis=-1) / 2


def normal_log_density(value, mean, log_variance):
    return (
        -(
            ((value - mean) ** 2 / np.exp(log_variance) + log_variance + math.log(2 * math.pi)).sum(
                axis=-1
            )
        )
        / 2
    )


def gaussian(weights, training, x, samples, noise):
    mean, log_variance = np.split(two_layers(weights, "encoder", x), 2, axis=1)
    costs, ratios = [], []
    for _ in range(samples):
        z = mean + np.exp(log_variance / 2) * noise.normal(size=mean.shape)
        costs.append(bernoulli_cost(two_layers(weights, "decoder", z), x))
        prior = normal_log_density(z, 0.0, np.zeros_like(z))
        ratios.append(prior - normal_log_density(z, mean, log_variance) - costs[-1])
    reconstruction, kl = np.mean(costs, axis=0), normal_kl(mean, log_variance)
    log_p = log_sum(np.array(ratios), axis=0) - math.log(samples)
    return means(
        {
            "reconstruction": reconstruction,
            "kl": kl,
            "bound": reconstruction + kl,
            "minus_log_p": -log_p,
        }
    )


def mixture(weights, training, x, classes, samples, noise):
    """A class and a style; a style for all classes, or one for each."""
    k = training["k"]
    shared = two_layers(weights, "encoder.base", x)
    scores = two_layers(weights, "encoder.classes", shared)
    log_q = scores - log_sum(scores)[:, None]
    q = np.exp(log_q)
    middle = dense(
        weights, "encoder.style.2", np.maximum(dense(weights, "encoder.style.0", shared), 0)
    )
    mean, log_variance = np.split(dense(weights, "encoder.style.3", middle), 2, axis=1)
    if training["styles"] == "own":
        mean, log_variance = (part.reshape(len(x), k, -1) for part in (mean, log_variance))
        kl_style = (q * normal_kl(mean, log_variance)).sum(1)
    else:
        kl_style = normal_kl(mean, log_variance)
    drawn = []
    for _ in range(samples):
        style = mean + np.exp(log_variance / 2) * noise.normal(size=mean.shape)
        costs = np.empty((len(x), k))
        for c in range(k):
            own = style[:, c] if training["styles"] == "own" else style
            rows = np.zeros((len(x), k, own.shape[-1]))
            rows[:, c] = own
            costs[:, c] = bernoulli_cost(decoded(weights, rows.reshape(len(x), -1)), x)
        drawn.append((q * costs).sum(1))
    kl_class = (q * log_q).sum(1) + math.log(k)
    reconstruction = np.mean(drawn, axis=0)
    columns = {"reconstruction": reconstruction, "kl_discrete": kl_class, "kl_continuous": kl_style}
    columns["bound"] = reconstruction + kl_class + kl_style
    columns["accuracy"] = scores.argmax(1) == classes
    columns["accuracy_sampled"] = q[np.arange(len(x)), classes]
    return means(columns)


def convolved(x, weight, bias):
    """Taps of 4 x 4, stride 2, a margin of 1: `[count, in, s, s]` to `[count, out, s / 2, s / 2]`."""
    half = x.shape[-1] // 2
    margin = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    out = np.zeros((len(x), len(weight), half, half)) + bias[:, None, None]
    for row, column in itertools.product(range(4), repeat=2):
        seen = margin[:, :, row : row + 2 * half : 2, column : column + 2 * half : 2]
        out += np.einsum("nihw,oi->nohw", seen, weight[:, :, row, column])
    return out


def spread(x, weight, bias):
    """The transpose: `[count, in, s, s]` to `[count, out, 2 s, 2 s]`."""
    side = 2 * x.shape[-1]
    out = np.zeros((len(x), weight.shape[1], side + 2, side + 2))
    for row, column in itertools.product(range(4), repeat=2):
        out[:, :, row : row + side : 2, column : column + side : 2] += np.einsum(
            "nihw,io->nohw", x, weight[:, :, row, column]
        )
    return out[:, :, 1:-1, 1:-1] + bias[:, None, None]


def attributes(weights, x, labels, samples, noise):
    """Attributes of faces and a code whose prior knows them."""
    maps = x.reshape(len(x), 3, 64, 64)
    for layer in (0, 2, 4, 6):
        name = f"encoder.base.{layer}"
        maps = np.maximum(convolved(maps, weights[f"{name}.weight"], weights[f"{name}.bias"]), 0)
    features = maps.reshape(len(x), -1)
    outputs = two_layers(weights, "encoder.attributes.network", features)
    mean, log_variance = np.split(dense(weights, "encoder.style", features), 2, axis=1)
    n = labels.shape[1]
    states = np.array(list(itertools.product((0.0, 1.0), repeat=n)))
    pairs = np.stack(
        [states[:, i] * states[:, j] for i in range(n) for j in range(i + 1, n)], axis=1
    )
    scores = outputs[:, :n] @ states.T + outputs[:, n:] @ pairs.T[: outputs.shape[1] - n]
    log_q = scores - log_sum(scores)[:, None]
    q = np.exp(log_q)
    kl_bits = (q * log_q).sum(1) + n * math.log(2)
    priors = dense(weights, "decoder.prior", states)
    kl_code = (
        q * normal_kl(mean[:, None] - priors, np.repeat(log_variance[:, None], len(states), axis=1))
    ).sum(1)
    scale = math.exp(weights["decoder.log_scale"]) + 1 / 255
    costs = []
    for _ in range(samples):
        places = (np.cumsum(q, axis=1) > noise.random((len(x), 1))).argmax(axis=1)
        code = mean + np.exp(log_variance / 2) * noise.normal(size=mean.shape)
        z = states[places]
        maps = dense(weights, "decoder.first", np.concatenate([z, 1 - z, code], axis=1)).reshape(
            len(x), -1, 4, 4
        )
        for layer in (1, 3, 5, 7):
            name = f"decoder.layers.{layer}"
            maps = spread(np.maximum(maps, 0), weights[f"{name}.weight"], weights[f"{name}.bias"])
        means_of_pixels = 1 / (1 + np.exp(-maps.reshape(len(x), -1)))
        log_density = normal_log_density(x, means_of_pixels, np.full_like(x, 2 * math.log(scale)))
        costs.append(x.shape[1] * math.log(255) - log_density)
    reconstruction = np.mean(costs, axis=0)
    right = states[scores.argmax(1)] == labels
    columns = {"reconstruction": reconstruction, "kl_discrete": kl_bits, "kl_continuous": kl_code}
    return means(
        {**columns, "bound": reconstruction + kl_bits + kl_code, "accuracy": right.mean(1)}
    )
