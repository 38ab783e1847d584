"""The explorer as a server: what it asks other machines for, and its pages in headless Chromium."""

import base64
import re
import shutil
import socket
from importlib.util import find_spec
from io import BytesIO

import numpy as np
import pytest
import torch
from explorer_server import serving
from PIL import Image

from models import paper_vae
from structured_vae import TrainConfig

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
QUIET = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]
BITS = 6
DECODED = "image and decoded image 1"
PATIENCE = 60_000  # milliseconds, on a busy machine

LISTED = """
import os, sys
log = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def listen(event, arguments):
    if event in ("socket.connect", "socket.sendto"):
        os.write(log, f"{arguments[-1]!r}\\n".encode())
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        os.write(log, f"{arguments[0]!r}\\n".encode())
sys.addaudithook(listen)
from structured_vae.cli import main
main()
"""
"""Runs the command line, and lists every address that it connects to or asks for in a file."""

pytestmark = pytest.mark.skipif(find_spec("streamlit") is None, reason="needs the extra explorer")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of the server: its model, its log and the list of addresses that it asked for."""
    return tmp_path_factory.mktemp("explorer")


@pytest.fixture(scope="module")
def address(folder):
    """Where the explorer of a small model listens."""
    torch.manual_seed(0)
    vae = paper_vae("general", n=BITS, hidden=20)
    with torch.no_grad():
        vae.decoder.last.weight *= 20  # an untrained decoder is grey whatever the bits
    vae.save_pretrained(folder / "model", training=TrainConfig(n=BITS, hidden=20).to_dict())
    with serving(folder / "model", folder, ("-c", LISTED, str(folder / "asked"))) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def visit(address, tmp_path_factory):
    """The page, loaded, and every address that it asked for."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium: apt-get install chromium")
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
            DECODED,
            "samples of the prior",
            "heat map of the couplings between bits",
        ):
            page.get_by_alt_text(description).wait_for()
        page.get_by_role("heading", name="Share").wait_for()
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


def bit(page, i, value):
    """The button that fixes a bit at a value, or frees it."""
    return page.locator(f".st-key-bit_{i}, .st-key-bit-{i}").get_by_role(
        "radio", name=str(value), exact=True
    )


def state_cell(page):
    return page.locator("tr", has_text="state").first.locator("td")


def state_of(page):
    return state_cell(page).inner_text()


def until_state_is(page, pattern):
    """Wait for a state that matches: the page shows the parts of one answer one after another."""
    playwright = pytest.importorskip("playwright.sync_api")
    playwright.expect(state_cell(page)).to_have_text(re.compile(pattern), timeout=PATIENCE)


@pytest.mark.browser
@pytest.mark.spread(1)
def test_it_opens_on_an_encoded_image_with_others_to_choose_from(visit):
    page, _ = visit
    thumbnails = page.locator(".st-key-thumbnails-image button")
    thumbnails.nth(11).wait_for()  # the page loads the code of its buttons after its pictures
    assert thumbnails.count() == 12
    backgrounds = thumbnails.evaluate_all(
        "all => all.map(each => getComputedStyle(each).backgroundImage)"
    )
    assert len(set(backgrounds)) == 12
    assert all("data:image/png" in each for each in backgrounds)
    until_state_is(page, r"^[01]{6}$")
    before = source(page, "image and decoded image 0")
    thumbnails.nth(2).click()
    until_changed(page, "image and decoded image 0", before)
    page.wait_for_url("**image=2**")


@pytest.mark.browser
def test_a_bit_that_is_fixed_stays_and_the_rest_is_solved_again(visit):
    page, _ = visit
    first, free = source(page, DECODED), state_of(page)
    flipped = 1 - int(free[0])
    bit(page, 0, flipped).click()
    second = until_changed(page, DECODED, first)
    until_state_is(page, f"^{flipped}")
    page.wait_for_url(f"**fix=0%3A{flipped}**")
    bars = page.locator("img[alt^='bars: ']").get_attribute("alt")
    assert f"0: {flipped}.00" in bars
    bit(page, 0, flipped).click()  # free again
    assert until_changed(page, DECODED, second) == first
    until_state_is(page, f"^{free}$")


@pytest.mark.browser
def test_a_link_shows_the_same_state_again(visit, address):
    page, asked = visit
    playwright = pytest.importorskip("playwright.sync_api")
    context = page.context.browser.new_context()
    other = context.new_page()
    other.set_default_timeout(PATIENCE)
    other.on("request", lambda request: asked.append(request.url))
    other.goto(f"{address}/?image=5&fix=1:1,3:0&to=7")
    other.get_by_role("heading", name="Share").wait_for()
    until_state_is(other, "^.1.0")
    playwright.expect(other.get_by_label("Number of the test image")).to_have_value(
        "5", timeout=PATIENCE
    )
    playwright.expect(other.get_by_label("Number of the other image")).to_have_value(
        "7", timeout=PATIENCE
    )
    assert (
        f"{address}?image=5&fix=1:1,3:0&to=7"
        == other.locator("[data-testid=stCode]").inner_text().strip()
    )
    with other.expect_download() as download:
        other.get_by_role("button", name="Download the decoded picture").click()
    assert download.value.suggested_filename == f"state-{state_of(other)}.png"
    with Image.open(download.value.path()) as picture:
        assert picture.size == (224, 224)
    context.close()


@pytest.mark.browser
@pytest.mark.slow
def test_a_dark_browser_gets_a_dark_page(visit, address):
    page, _ = visit
    context = page.context.browser.new_context(color_scheme="dark")
    dark = context.new_page()
    dark.set_default_timeout(PATIENCE)
    dark.goto(address)
    dark.get_by_role("heading", name="Share").wait_for()
    colour = dark.locator("[data-testid=stApp]").evaluate(
        "each => getComputedStyle(each).backgroundColor"
    )
    assert max(map(int, re.findall(r"\d+", colour)[:3])) < 60
    assert source(dark, "image and decoded image 0") != source(page, "image and decoded image 0")
    context.close()


@pytest.mark.browser
def test_an_uploaded_image_is_encoded_and_what_is_none_is_refused(visit):
    page, _ = visit
    page.get_by_text("A file", exact=True).click()
    upload = page.locator("input[type=file]")
    upload.set_input_files({"name": "a.png", "mimeType": "image/png", "buffer": b"\x80\x04K\x01."})
    refused = page.get_by_text("this is no image that can be read")
    refused.wait_for()
    assert "0x" not in refused.inner_text()
    file = BytesIO()
    Image.fromarray(np.tile(np.arange(0, 256, 4, dtype=np.uint8), (64, 1))).save(file, "PNG")
    upload.set_input_files({"name": "b.png", "mimeType": "image/png", "buffer": file.getvalue()})
    page.get_by_alt_text(DECODED).wait_for()
    page.get_by_text("Test images", exact=True).click()
    page.get_by_label("Number of the other image").wait_for()


@pytest.mark.browser
def test_another_seed_draws_other_samples(visit):
    page, _ = visit
    before = source(page, "samples of the prior")
    seed = page.get_by_label("Seed", exact=True)
    seed.fill("7")
    seed.press("Enter")
    until_changed(page, "samples of the prior", before)


@pytest.mark.browser
def test_a_phone_shows_it_without_scrolling_sideways(visit):
    page, _ = visit
    for selector in ("html", "[data-testid=stMain]"):
        wide, seen = page.locator(selector).evaluate("each => [each.scrollWidth, each.clientWidth]")
        assert wide <= seen


@pytest.mark.browser
def test_nothing_is_fetched_from_elsewhere(visit, address):
    _, asked = visit
    own = (address, address.replace("http", "ws"), "data:", "blob:")
    assert len(asked) > 10
    assert [url for url in asked if not url.startswith(own)] == []


def test_the_server_asks_no_other_machine_when_a_page_of_another_site_connects(address, folder):
    port = int(address.rpartition(":")[2])
    origins = ("http://example.org", address)
    assert [upgraded(port, origin) for origin in origins] == ["403", "101"]
    asked = (folder / "asked").read_text().splitlines()
    assert [line for line in asked if "127.0.0.1" not in line] == []


def upgraded(port, origin):
    """The status that a page of `origin` gets for a WebSocket."""
    asked = (
        "GET /_stcore/stream HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        f"Origin: {origin}",
        *("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"),
        f"Sec-WebSocket-Key: {base64.b64encode(bytes(16)).decode()}",
    )
    with socket.create_connection(("127.0.0.1", port), timeout=60) as page:
        page.sendall("\r\n".join((*asked, "", "")).encode())
        return page.recv(100).split()[1].decode()
