"""The explorer in headless Chromium."""

import shutil
from io import BytesIO

import numpy as np
import pytest
import torch
from explorer_server import serving
from PIL import Image

from models import paper_vae
from structured_vae import TrainConfig

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]
BITS = 6
PATIENCE = 60_000  # milliseconds, on a busy machine

pytestmark = [
    pytest.mark.browser,
    pytest.mark.xdist_group("browser"),  # one server and one Chromium for all
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Where the explorer of a small model listens."""
    folder = tmp_path_factory.mktemp("explorer")
    torch.manual_seed(0)
    vae = paper_vae("general", n=BITS, hidden=20)
    with torch.no_grad():
        vae.decoder.last.weight *= 20  # an untrained decoder is grey whatever the bits
    vae.save_pretrained(folder / "model", training=TrainConfig(n=BITS, hidden=20).to_dict())
    with serving(folder / "model", folder) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def visit(address, tmp_path_factory):
    """The page, loaded, and every address that it asked for."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, headless=True, args=QUIET)
        page = browser.new_page(viewport={"width": 390, "height": 844})
        page.set_default_timeout(PATIENCE)
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("websocket", lambda socket: asked.append(socket.url))
        page.goto(address)
        for description in (
            "decoded image",
            "samples from the prior",
            "heat map of the couplings between bits",
        ):
            page.get_by_alt_text(description).wait_for()
        yield page, asked
        browser.close()


def source(page, description):
    return page.get_by_alt_text(description).get_attribute("src")


def until_changed(page, description, before):
    page.wait_for_function(
        "([name, before]) => { const found = document.querySelector(`img[alt^='${name}']`);"
        " return found && found.src !== before; }",
        arg=[description, before],
    )
    return page.locator(f"img[alt^='{description}']").get_attribute("src")


def test_a_flipped_bit_changes_the_image_and_flipped_back_restores_it(visit):
    page, _ = visit
    label = page.locator(".st-key-bits label")
    label.nth(BITS - 1).wait_for(timeout=PATIENCE)
    assert label.count() == BITS
    first = source(page, "decoded image")
    label.nth(1).click()
    second = until_changed(page, "decoded image", first)
    label.nth(4).click()
    third = until_changed(page, "decoded image", second)
    assert len({first, second, third}) == 3
    label.nth(4).click()
    assert until_changed(page, "decoded image", third) == second
    label.nth(1).click()
    assert until_changed(page, "decoded image", second) == first


def test_an_image_is_encoded_and_its_state_goes_into_the_switches(visit):
    page, _ = visit
    before = source(page, "the image, and the image of its most probable state")
    bars = page.locator("img[alt^='bars: ']").get_attribute("alt")
    number = page.get_by_label("Number of the test image, from 0")
    number.fill("2")
    number.press("Enter")
    until_changed(page, "the image, and the image of its most probable state", before)
    page.wait_for_function("before => !document.querySelector(`img[alt='${before}']`)", arg=bars)
    decoded = source(page, "decoded image")
    page.get_by_role("button", name="Put this state into the switches").click()
    until_changed(page, "decoded image", decoded)
    states = page.locator(".st-key-bits input").evaluate_all("all => all.map(each => each.checked)")
    assert len(states) == BITS
    assert any(states)


def test_an_uploaded_image_is_encoded_and_what_is_none_is_refused(visit):
    page, _ = visit
    page.get_by_text("File", exact=True).click()
    upload = page.locator("input[type=file]")
    upload.set_input_files({"name": "a.png", "mimeType": "image/png", "buffer": b"\x80\x04K\x01."})
    page.get_by_text("this is no image that can be read").wait_for()
    file = BytesIO()
    Image.fromarray(np.tile(np.arange(0, 256, 4, dtype=np.uint8), (64, 1))).save(file, "PNG")
    upload.set_input_files({"name": "b.png", "mimeType": "image/png", "buffer": file.getvalue()})
    page.get_by_alt_text("the image, and the image of its most probable state").wait_for()
    page.get_by_text("Test split", exact=True).click()


def test_another_seed_draws_other_samples(visit):
    page, _ = visit
    before = source(page, "samples from the prior")
    seed = page.get_by_label("Seed", exact=True)
    seed.fill("7")
    seed.press("Enter")
    until_changed(page, "samples from the prior", before)


def test_a_phone_shows_it_without_scrolling_sideways(visit):
    page, _ = visit
    for selector in ("html", "[data-testid=stMain]"):
        wide, seen = page.locator(selector).evaluate("each => [each.scrollWidth, each.clientWidth]")
        assert wide <= seen


def test_nothing_is_fetched_from_elsewhere(visit, address):
    _, asked = visit
    own = (address, address.replace("http", "ws"), "data:", "blob:")
    assert len(asked) > 10
    assert [url for url in asked if not url.startswith(own)] == []
