import base64
import re
import socket
import zlib
from dataclasses import replace
from importlib.util import find_spec
from io import BytesIO
from itertools import permutations, product
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from own_networks import Scores
from PIL import Image

from models import AttributeVAE, DiscreteVAE, MixtureVAE, Potentials, paper_vae
from models.errors import PretrainedError
from models.vaes import GaussianVAE
from structured_vae import TrainConfig, load_dataset
from structured_vae.cli import main
from structured_vae.errors import DataError, MissingPackageError, RunError
from structured_vae.explorer import Explored, explore, open_model
from structured_vae.explorer.drawings import (
    DARK,
    LIGHT,
    bars_html,
    graph_html,
    heat_map_html,
    image_html,
    strip_html,
)
from structured_vae.explorer.links import query_of, read_query
from structured_vae.explorer.state_paths import best_path
from structured_vae.explorer.upload import read_colours, read_upload

SIDE = 3
GIBBS = TrainConfig(n=4, estimator="exact")
NETWORKS = {
    "general": lambda: paper_vae("general", pixels=9, n=4, hidden=5),
    "independent": lambda: paper_vae("independent", pixels=9, n=4, hidden=5),
    "categorical": lambda: paper_vae("categorical", pixels=9, k=4, hidden=5),
    "mixture": lambda: MixtureVAE(9, k=4, c=2),
    "mixture, own styles": lambda: MixtureVAE(9, k=4, c=2, styles="own"),
}


@pytest.fixture(params=NETWORKS)
def model(request):
    torch.manual_seed(0)
    return Explored(NETWORKS[request.param]().eval(), None, (SIDE, SIDE))


@pytest.fixture
def bits():
    torch.manual_seed(0)
    return Explored(NETWORKS["general"]().eval(), GIBBS, (SIDE, SIDE))


@pytest.fixture
def x():
    return np.random.default_rng(0).random(9, dtype=np.float32)


# --- what the page shows ------------------------------------------------------------------------


def test_every_state_is_decoded_by_the_decoder(bits):
    for state in product((0, 1), repeat=4):
        z = torch.tensor(state, dtype=torch.float32)
        expected = bits.vae.decoder(z).detach().sigmoid().reshape(3, 3)
        assert np.allclose(bits.decode(state), expected, atol=1e-6)


@pytest.mark.parametrize("styles", ["shared", "own"])
def test_the_style_of_a_mixture(x, styles):
    model = Explored(MixtureVAE(9, k=4, c=2, styles=styles).eval(), None, (SIDE, SIDE))
    state = model.state(2)
    assert state == (0, 0, 1, 0)
    zero = model.vae.decoder.every_class(torch.zeros(1, 2))[0, 2].detach().sigmoid()
    assert np.allclose(model.decode(state).ravel(), zero, atol=1e-6)
    drawn = [model.decode(state, model.drawn_style(number)) for number in (1, 2, 1)]
    assert np.array_equal(drawn[0], drawn[2])
    assert not np.array_equal(drawn[0], drawn[1])
    scored = model.score(x)
    _, style = model.vae.encoder(torch.from_numpy(x)[None])
    assert np.array_equal(scored.style, style.mean[0].flatten().detach().numpy())
    own = model.vae.decoder(torch.tensor([state]).float(), style.mean).detach().sigmoid()
    assert np.allclose(model.decode(state, scored.style).ravel(), own[0], atol=1e-6)


def test_a_face_is_decoded_with_its_own_code_under_every_attribute():
    torch.manual_seed(0)
    vae = AttributeVAE("general", n=8, c=3, channels=2).eval()
    torch.nn.init.normal_(vae.decoder.prior.weight)
    model = Explored(vae, None, (64, 64))
    assert model.names[:2] == ["Eyeglasses", "Male"]
    face = np.random.default_rng(0).random(3 * 64 * 64, dtype=np.float32)
    scored = model.score(face)
    found = model.encode(scored)
    _, code = vae.encoder(torch.from_numpy(face)[None])
    z = torch.tensor([found.state]).float()
    expected = vae.decoder(z, code.mean).detach().reshape(3, 64, 64).permute(1, 2, 0)
    assert np.allclose(model.decode(found.state, scored.style), expected, atol=1e-5)
    other = (1 - found.state[0], *found.state[1:])
    moved = vae.decoded(torch.from_numpy(scored.style)[None], torch.tensor([other]).float())
    expected = moved.reshape(3, 64, 64).permute(1, 2, 0)
    assert np.allclose(model.decode(other, scored.style), expected, atol=1e-5)
    assert model.samples(10, 0, {1: 1}).shape == (64, 640, 3)


def scores_of_all(h):
    """Every state and its score, for one image's potentials."""
    states = torch.tensor(list(product((0.0, 1.0), repeat=h.unary.shape[1])))
    return states, torch.stack([h.score(state[None])[0] for state in states]).double().detach()


@pytest.mark.parametrize("fixed", [{}, {1: 1}, {0: 0, 2: 1}, {0: 1, 1: 1, 2: 0, 3: 0}], ids=str)
def test_the_rest_is_solved_again_with_fixed_bits(bits, x, fixed):
    scored = bits.score(x)
    states, scores = scores_of_all(scored.potentials)
    allowed = torch.stack(
        [states[:, i] == value for i, value in fixed.items()] or [scores == scores]
    ).all(0)
    found = bits.encode(scored, fixed, 5)
    best = scores[allowed].sort(descending=True).values
    assert np.allclose(found.best.scores, best[:5], atol=1e-6)
    assert found.best.optimal.all()
    assert found.best.bound == pytest.approx(best[0].item(), abs=1e-6)
    assert all(state[i] == value for state in found.best.states for i, value in fixed.items())
    given = torch.where(allowed, scores, -torch.inf).softmax(0)
    assert np.allclose(found.marginals, given @ states.double(), atol=1e-6)
    assert np.allclose(
        np.exp(found.best.log_given), given.sort(descending=True).values[: len(best[:5])]
    )
    assert np.allclose(
        np.exp(found.best.log_probability),
        scores.softmax(0)[allowed].sort(descending=True).values[:5],
    )
    pixels = torch.from_numpy(x)[None]
    joint = bits.vae.decoder.cost(pixels, torch.tensor([found.state]).float()).item() + 4 * np.log(
        2
    )
    assert found.cost == pytest.approx(joint, rel=1e-5)
    evidence = -torch.logsumexp(
        -bits.vae.decoder.cost(pixels, states[:, None])[:, 0] - 4 * np.log(2), 0
    )
    assert found.cost >= evidence.item()


def test_perturb_and_map_is_the_posterior_of_a_training_by_it(bits, x):
    exact = bits.encode(bits.score(x))
    assert exact.how == "exact"
    direct = replace(bits, training=TrainConfig(n=4, estimator="direct", solver="cplex"))
    perturbed = direct.encode(direct.score(x), {2: 1})
    assert perturbed.how == "perturb-and-MAP, 2000 draws"
    assert direct.score(x).posterior.density.endswith("those of perturb-and-MAP are not known")
    assert bits.score(x).posterior.density == "exp(score) / Z"
    assert perturbed.marginals[2] == 1
    given = bits.encode(bits.score(x), {2: 1})
    assert perturbed.state == given.state
    assert 0 < np.abs(perturbed.marginals - given.marginals).max() < 0.5


def test_the_prior_is_what_is_left_without_an_image(bits):
    vae = paper_vae("general", pixels=9, n=4, hidden=5, prior="gibbs").eval()
    with torch.no_grad():
        vae.prior.unary.copy_(torch.tensor([2.0, -1.0, 0.5, -0.3]))
    learnt = replace(bits, vae=vae)
    found = learnt.encode(learnt.score(None), {3: 1})
    assert np.allclose(found.marginals[:3], torch.tensor([2.0, -1.0, 0.5]).sigmoid(), atol=1e-6)
    assert found.state == (1, 0, 1, 1)
    assert found.cost is None
    assert np.allclose(bits.encode(bits.score(None)).marginals, 0.5)


@pytest.mark.parametrize("seed", range(5))
def test_no_other_order_of_flips_passes_better_states(seed):
    random = np.random.default_rng(seed)
    pairs = torch.triu_indices(5, 5, 1).T
    unary, pairwise = (
        torch.from_numpy(random.normal(size=(1, 5))),
        torch.from_numpy(random.normal(size=(1, 10))),
    )
    h = Potentials(unary, pairwise, pairs)
    start, end = random.integers(0, 2, (2, 5)).astype(np.int8)

    def score(states):
        return h.score(states.double()[:, None])[:, 0]

    states, scores = best_path(score, start, end)
    differing = np.flatnonzero(start != end)
    sums = []
    for order in permutations(differing):
        z = start.copy()
        visited = [z.copy()]
        for bit in order:
            z[bit] ^= 1
            visited.append(z.copy())
        sums.append(h.score(torch.from_numpy(np.array(visited))[:, None].double()).sum().item())
    assert scores.sum() == pytest.approx(max(sums))
    assert np.allclose(h.score(torch.from_numpy(states)[:, None].double())[:, 0], scores)
    assert np.array_equal(states[0], start)
    assert np.array_equal(states[-1], end)
    assert (np.abs(np.diff(states, axis=0)).sum(axis=1) == 1).all()


def test_couplings_are_the_pairwise_scores(bits, x):
    h = bits.vae.encoder(torch.from_numpy(x)[None])
    couplings = bits.encode(bits.score(x)).couplings
    assert np.isnan(np.diag(couplings)).all()
    for (i, j), score in zip(h.edges.tolist(), h.pairwise[0].tolist(), strict=True):
        assert couplings[i, j] == couplings[j, i] == pytest.approx(score)


def test_every_model_is_shown(model):
    x = np.random.default_rng(0).random(
        9 * (1 if model.colours == 1 else 64 * 64 // 3), dtype=np.float32
    )
    scored = model.score(x)
    found = model.encode(scored, {}, 3)
    assert found.marginals.shape == (4,)
    assert ((found.marginals >= 0) & (found.marginals <= 1)).all()
    assert (found.couplings is not None) == (
        model.bits and getattr(model.vae.encoder, "has_pairs", False)
    )
    assert model.decode(found.state, scored.style).shape == model.size
    if not model.bits:
        assert found.marginals.sum() == pytest.approx(1)
        assert found.state == model.state(int(found.marginals.argmax()))
        assert np.allclose(np.exp(found.best.log_probability), np.sort(found.marginals)[:0:-1])
        chosen = model.encode(scored, {1: 1}, 3)
        assert chosen.state == model.state(1)
        assert chosen.best.log_given.tolist() == [0.0]
    columns = 4 if model.has_style else 10
    rows = 2 if model.has_style else 20
    drawn = model.samples(rows, seed=1)
    assert drawn.shape == (2 * 3, columns * 3)
    assert np.array_equal(drawn, model.samples(rows, seed=1))
    assert not np.array_equal(drawn, model.samples(rows, seed=2))


def test_samples_keep_what_is_fixed(bits, x):
    for scored in (None, bits.score(x)):
        picture = bits.samples(20, 0, {0: 1, 3: 0}, scored)
        tiles = picture.reshape(2, 3, 10, 3).transpose(0, 2, 1, 3).reshape(20, 9)
        allowed = np.stack([bits.decode((1, i, j, 0)).ravel() for i in (0, 1) for j in (0, 1)])
        assert np.abs(tiles[:, None] - allowed[None]).max(axis=2).min(axis=1).max() < 1e-6


def test_other_types_of_weights_are_shown(x):
    model = Explored(NETWORKS["general"]().double().eval(), None, (SIDE, SIDE))
    assert model.decode((1, 0, 0, 1)).dtype == np.float32
    assert model.encode(model.score(x)).marginals.shape == (4,)


def test_test_images_are_those_of_the_training(bits):
    with pytest.raises(RunError, match="does not say which images"):
        _ = replace(bits, training=None).test_images
    known = replace(bits, training=TrainConfig())
    images = load_dataset("fashion-mnist-mini").test.images
    assert np.array_equal(known.test_images, images)
    assert np.array_equal(known.test_image(3), images[3])


def test_a_link_says_what_is_shown_and_nonsense_is_nothing():
    for image, fixed, other in ((3, {0: 1, 7: 0}, 5), (None, {}, None), (0, {}, None)):
        assert read_query(query_of(image, fixed, other), n=8) == (image, fixed, other)
    for query in (
        {"image": "-1"},
        {"image": "1e9"},
        {"fix": "8:1,0:2,a:b,:"},
        {"to": "\u0663"},
        {"image": "9" * 99},
    ):
        assert read_query(query, n=8) == (None, {}, None)


# --- files that are opened ----------------------------------------------------------------------


def test_an_exported_folder_is_opened(tmp_path):
    vae = paper_vae("general", pixels=9, n=4, hidden=5)
    vae.save_pretrained(tmp_path, training=GIBBS.to_dict())
    model = open_model(tmp_path)
    assert model.training == GIBBS
    assert model.size == (3, 3)
    assert torch.equal(model.vae.decoder.last.bias, vae.decoder.last.bias)


@pytest.mark.parametrize(
    ("vae", "words"),
    [
        (
            lambda: paper_vae("independent", pixels=8, n=4, hidden=5),
            "height and width of its images of 8 pixels",
        ),
        (
            lambda: paper_vae("independent", pixels=9, n=21, hidden=5),
            "has 21 bits; the explorer shows up to 20",
        ),
        (
            lambda: AttributeVAE("general", n=21, c=2, channels=1),
            "has 21 bits; the explorer shows up to 20",
        ),
        (
            lambda: GaussianVAE(9, 2, 5),
            "is a GaussianVAE; the explorer shows models with discrete states",
        ),
    ],
    ids=["pixels", "bits", "attributes", "gaussian"],
)
def test_a_model_that_the_page_cannot_show_is_refused(tmp_path, vae, words):
    vae().save_pretrained(tmp_path)
    with pytest.raises(RunError, match=words):
        open_model(tmp_path)


@pytest.mark.parametrize("place", [None, 3, b"run", ["run"], "x" * 5000])
def test_what_is_no_path_of_a_model_is_refused(place):
    with pytest.raises(RunError, match="expected the path of a run folder; got") as caught:
        open_model(place)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "damage", ["nothing there", "config.json", "model.safetensors", "training"]
)
def test_what_cannot_be_opened_is_refused_by_the_command(tmp_path, capsys, damage):
    if damage != "nothing there":
        training = {"epocs": 3} if damage == "training" else None
        paper_vae("independent", pixels=9, n=4, hidden=5).save_pretrained(
            tmp_path, training=training
        )
    if damage.startswith(("config", "model")):
        (tmp_path / damage).write_bytes(b"\x80\x04K\x01.")  # a pickle
    with pytest.raises(SystemExit) as stop:
        main(["explore", str(tmp_path)])
    assert stop.value.code == 2
    message = capsys.readouterr().err
    words = {"nothing there": "neither a run folder", "training": "epocs"}
    assert words.get(damage, f"{damage} is damaged") in message.replace("\n", " ")


def test_without_streamlit_the_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("structured_vae.explorer.serve.find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match=r"pip install 'structured-vae\[explorer\]'"):
        explore(tmp_path)


@pytest.mark.skipif(find_spec("streamlit") is None, reason="needs the extra explorer")
def test_a_port_that_is_taken(tmp_path):
    paper_vae("independent", pixels=9, n=4, hidden=5).save_pretrained(tmp_path)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        pytest.raises(RunError, match="with --port"),
    ):
        explore(tmp_path, port=server.getsockname()[1])
    for address, port in (("127.0.0.1", 10**6), ("no address", 8501)):
        with pytest.raises(RunError, match="cannot be listened at"):
            explore(tmp_path, address, port)


@pytest.mark.skipif(find_spec("streamlit") is None, reason="needs the extra explorer")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_page_shows_networks_of_ones_own(tmp_path, monkeypatch):
    from streamlit.testing.v1 import AppTest

    def own():
        vae = DiscreteVAE(Scores(9, 3), torch.nn.Linear(3, 9), pixels=9)
        vae.fit_to(9)
        return vae

    trained, visits = own(), []
    trained.save_pretrained(tmp_path)

    def visit(command, standalone_mode):
        monkeypatch.setattr("sys.argv", [command[1], command[-1]])
        visits.append(AppTest.from_file(command[1], default_timeout=60).run())

    monkeypatch.setattr("streamlit.web.cli.main", visit)
    monkeypatch.setattr("structured_vae.explorer.serve._ask_nobody", lambda: None)
    monkeypatch.setattr("structured_vae.explorer.serve._check_free", lambda address, port: None)
    model = own()
    explore(tmp_path, model=model)
    assert not visits[0].exception
    assert visits[0].text[1].value.startswith("DiscreteVAE, 3 bits")
    assert [control.key for control in visits[0].button_group] == ["bit 0", "bit 1", "bit 2"]
    for name, value in trained.state_dict().items():
        assert torch.equal(model.state_dict()[name], value)
    with pytest.raises(PretrainedError, match="pass a DiscreteVAE"):
        explore(tmp_path)


@pytest.fixture
def visited(tmp_path, monkeypatch):
    """A page of networks without a browser, its HTML in one text after each run."""
    from streamlit.testing.v1 import AppTest

    def visit(vae, training=None):
        folder = tmp_path / type(vae).__name__
        vae.save_pretrained(folder, training=training)
        monkeypatch.setattr("sys.argv", ["page.py", str(folder)])
        page = find_spec("structured_vae.explorer.page").origin
        return AppTest.from_file(page, default_timeout=60).run()

    return visit


def html_of(page):
    assert not page.exception
    return "\n".join(each.proto.body for each in page.get("html"))


@pytest.mark.skipif(find_spec("streamlit") is None, reason="needs the extra explorer")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_page_of_attributes_says_their_names(visited):
    torch.manual_seed(0)
    page = visited(AttributeVAE("general", n=8, c=2, channels=1).eval())
    assert [control.label for control in page.button_group][:2] == ["Eyeglasses", "Male"]
    assert 'alt="bars: Eyeglasses: 0.50, Male: 0.50' in html_of(page)
    for i in range(8):
        page.session_state[f"bit {i}"] = str(int(i in (1, 7)))
    shown = html_of(page.run())
    assert "<td>01000001</td>" in shown
    assert "<td>Male, Young</td>" in shown


@pytest.mark.skipif(find_spec("streamlit") is None, reason="needs the extra explorer")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_category_that_is_chosen_stays_among_the_others(visited):
    torch.manual_seed(0)
    page = visited(MixtureVAE(9, k=4, c=2).eval())
    free = html_of(page)
    [category] = [control for control in page.radio if control.label == "Category"]
    shown = html_of(category.set_value("2").run())
    for html in (free, shown):
        assert 'alt="bars: 0: 0.25, 1: 0.25, 2: 0.25, 3: 0.25"' in html
        assert html.count('alt="best state ') == 4
    assert (
        '<th style="text-align:left;font-weight:600;padding-right:1.2em;vertical-align:top">state'
        in shown
    )
    assert "<td>2</td>" in shown
    assert "with the fixed bits" not in shown
    model = Explored(MixtureVAE(9, k=4, c=2).eval(), None, (SIDE, SIDE))
    assert model.samples(30, 0, {2: 1}).shape == (9, 30)


def test_long_names_have_room_in_drawings():
    names, couplings = ["Eyeglasses", "Wearing Hat", "Young"], np.zeros((3, 3))
    for html in (
        heat_map_html(couplings, names, "h"),
        graph_html(couplings, np.ones(3), names, "g"),
    ):
        drawing = base64.b64decode(re.search(r"base64,([^\"]*)", html)[1]).decode()
        root = ElementTree.fromstring(drawing)  # noqa: S314  # our own
        wide = float(root.get("width"))
        for each in root.iter("{http://www.w3.org/2000/svg}text"):
            if each.text in names:
                x, letters = float(each.get("x")), 6 * len(each.text)
                left = {"start": 0, "middle": letters / 2, "end": letters}[each.get("text-anchor")]
                assert left <= x <= wide - letters + left
                outwards = ("middle", "start", "end")[round(np.sign(x - wide / 2))]
                assert 'alt="g"' not in html or each.get("text-anchor") == outwards
    assert {each.text for each in root.iter("{http://www.w3.org/2000/svg}text")} == set(names)


# --- images from files --------------------------------------------------------------------------


def png(values, mode="L"):
    file = BytesIO()
    Image.fromarray(np.asarray(values, dtype=np.uint8), mode=None).convert(mode).save(file, "PNG")
    return file.getvalue()


def test_ink_is_one_on_white_and_on_black_paper():
    drawing = np.zeros((6, 6), dtype=np.uint8)
    drawing[2:4, 2:4] = 255
    expected = [0, 0, 0, 0, 1, 0, 0, 0, 0]
    for content in (png(drawing), png(255 - drawing), png(drawing, "RGB"), png(255 - drawing, "P")):
        assert read_upload(content, (3, 3), "threshold").tolist() == expected
    clear = Image.new("RGBA", (6, 6), (0, 0, 0, 0))
    clear.paste((0, 0, 0, 255), (2, 2, 4, 4))
    file = BytesIO()
    clear.save(file, "PNG")
    assert read_upload(file.getvalue(), (3, 3), "threshold").tolist() == expected
    grey = read_upload(png(drawing // 5 * 2), (3, 3), "none")
    assert grey.max() == pytest.approx(102 / 255)


def bomb(width=40_000, height=40_000):
    """A small file that promises 40,000 x 40,000 pixels, or a picture of another size."""
    content = bytearray(png(np.zeros((1, 1))))
    content[16:24] = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    content[29:33] = zlib.crc32(bytes(content[12:29])).to_bytes(4, "big")
    return bytes(content)


def test_a_picture_of_one_column_is_refused_before_it_is_read():
    with pytest.raises(
        DataError, match="1 x 25000000 pixels; at most 25,000,000 are read, and 20,000 on a side"
    ):
        read_upload(bomb(1, 25_000_000), (3, 3), "threshold")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no image",
        png(np.zeros((9, 9)))[:40],
        b"\x80\x04K\x01.",
        b"%PDF-1.4",
        bomb(),
        bomb(10_000, 10_000),
    ],
    ids=["empty", "text", "truncated", "pickle", "pdf", "bomb", "bomb that Pillow warns of"],
)
@pytest.mark.filterwarnings("error")
def test_what_is_no_image_is_refused(content):
    for read in (
        lambda: read_upload(content, (3, 3), "threshold"),
        lambda: read_colours(content, (64, 64)),
    ):
        with pytest.raises(DataError, match="image") as refused:
            read()
        assert "0x" not in str(refused.value)


def test_the_central_square_of_a_picture_in_colour():
    picture = np.zeros((4, 8, 3), dtype=np.uint8)
    picture[:, 2:6] = (255, 0, 51)
    file = BytesIO()
    Image.fromarray(picture).save(file, "PNG")
    planes = read_colours(file.getvalue(), (2, 2)).reshape(3, 4)
    assert planes.tolist() == pytest.approx(np.array([[1.0] * 4, [0.0] * 4, [0.2] * 4]))


# --- drawings -----------------------------------------------------------------------------------


def test_an_image_keeps_its_pixels():
    html = image_html(np.array([[0.0, 1.0], [0.5, 2.0]], dtype=np.float32), 'a "b" <c>', 20)
    content = base64.b64decode(re.search(r"base64,([^\"]*)", html)[1])
    assert np.asarray(Image.open(BytesIO(content))).tolist() == [[255, 0], [128, 0]]
    assert 'alt="a &quot;b&quot; &lt;c&gt;"' in html
    assert "image-rendering:pixelated" in html


def test_ink_is_bright_on_a_dark_page_and_colours_are_what_they_are():
    def pixels(image, palette):
        content = base64.b64decode(
            re.search(r"base64,([^\"]*)", image_html(image, "", 9, palette))[1]
        )
        return np.asarray(Image.open(BytesIO(content))).tolist()

    ink = np.array([[0.0, 1.0]], dtype=np.float32)
    assert (pixels(ink, LIGHT), pixels(ink, DARK)) == ([[255, 0]], [[0, 255]])
    colour = np.array([[[1.0, 0.0, 0.2]]], dtype=np.float32)
    assert pixels(colour, LIGHT) == pixels(colour, DARK) == [[[255, 0, 51]]]


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("n", [1, 15])
def test_drawings_fetch_nothing(n, palette):
    couplings = np.random.default_rng(0).normal(size=(n, n))
    np.fill_diagonal(couplings, np.nan)
    names, marginals = [f"<{i}>" for i in range(n)], np.linspace(0, 1, n)
    for html in (
        bars_html(marginals, names, "bars", {0}, palette),
        heat_map_html(couplings, names, "h", palette),
        graph_html(couplings, marginals, names, "g", {0}, palette),
    ):
        drawing = base64.b64decode(re.search(r"base64,([^\"]*)", html)[1]).decode()
        root = ElementTree.fromstring(drawing)  # noqa: S314  # our own
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "http" not in drawing.replace("http://www.w3.org/2000/svg", "")
        assert "nan" not in drawing
        assert root.get("viewBox").split()[2] == root.get("width")
    strip = strip_html([np.zeros((2, 2), np.float32)], ["a <b>\nc"], "s", 9, palette)
    assert "a &lt;b&gt;<br>c" in strip
