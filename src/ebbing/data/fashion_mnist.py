"""Fashion-MNIST: 60,000 training and 10,000 test images of clothing in ten classes, in the files and form of MNIST.

Debian's package `dataset-fashion-mnist` installs the files in compressed form of its own, whose checksums are known.
"""

from __future__ import annotations

from ebbing.data._cache import DatasetFiles, load
from ebbing.data._sources import Progress
from ebbing.data.mnist import Mnist, idx_file, read_idx


def fashion_mnist(progress: Progress | None = None) -> Mnist:
    """Return Fashion-MNIST from the cache; if it is not there, it is fetched (see `ebbing.data.cache_folder`).

    Args:
        progress: A function that is called often, with a line of text, while something is fetched.

    Returns:
        The data, in the form of MNIST. The classes are T-shirt, trousers, pullover, dress, coat, sandal, shirt,
        sneaker, bag and ankle boot.
    """
    contents = load(FASHION_MNIST, progress)
    arrays = (read_idx(contents[file.name]) for file in FASHION_MNIST.files)
    return Mnist(*arrays, fingerprint=FASHION_MNIST.fingerprint)


FASHION_MNIST = DatasetFiles(
    name="fashion-mnist",
    files=(
        idx_file(
            "train-images-idx3-ubyte",
            (60000, 28, 28),
            md5="f4a8712d7a061bf5bd6d2ca38dc4d50a",
            gzip_md5="8d4fb7e6c68d591d4c3dfef9ec88bf0d",
            other_gzip_md5="cf8536b0aa1a6ac5fa3f23001093305c",
        ),
        idx_file(
            "train-labels-idx1-ubyte",
            (60000,),
            md5="9018921c3c673c538a1fc5bad174d6f9",
            gzip_md5="25c81989df183df01b3e8a0aad5dffbe",
            other_gzip_md5="10bea18fdb374794d4bb42e356e600c9",
        ),
        idx_file(
            "t10k-images-idx3-ubyte",
            (10000, 28, 28),
            md5="8181f5470baa50b63fa0f6fddb340f0a",
            gzip_md5="bef4ecab320f06d8554ea6380940ec79",
            other_gzip_md5="f78720b4224f21cce2f2ccf2d7a94c9a",
        ),
        idx_file(
            "t10k-labels-idx1-ubyte",
            (10000,),
            md5="15d484375f8d13e6eb1aabb0c3f46965",
            gzip_md5="bb300cfdad3c16e7a12a480ee83cd310",
            other_gzip_md5="0d30e22e447f3c33dab9ed536400ac01",
        ),
    ),
    folders=("/usr/share/datasets/fashion-mnist",),
    mirrors=(
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
    ),
)
