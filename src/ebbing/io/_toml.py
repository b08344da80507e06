"""Entries of a TOML file. What would take the parser much memory is refused before it is parsed."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from ebbing._limits import MOST_TOML_BYTES, MOST_TOML_KEYS
from ebbing.io._bytes import read_bytes

_WAY_OUT = "; a large matrix goes into a file of its own: --gram, --vectors, --distances or --cosines"
_STRINGS_AND_COMMENTS = re.compile(
    r'"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"' + r"|'''.*?'''|'[^'\n]*'" + r"|#[^\n]*", re.DOTALL
)
_LONG_KEY = re.compile(rf"(?:\.[ \t]*[\w-]+[ \t]*){{{MOST_TOML_KEYS}}}")
_TABLE = re.compile(r"^[ \t]*\[\[?[ \t]*[\w.-]+[ \t]*\]\]?[ \t]*\r?$", re.MULTILINE)


def read_toml(file: Path, or_else: str = "") -> dict[str, Any]:
    """Return the entries of a TOML file; `or_else` ends the error for one that is none."""
    content = read_bytes(file, MOST_TOML_BYTES, _WAY_OUT)
    try:
        text = content.decode("utf-8-sig")
        # The parser's memory grows with the number of keys, and with the square of the number of their parts.
        plain = _STRINGS_AND_COMMENTS.sub(lambda found: "" if found[0][0] == "#" else "_", text)
        if _LONG_KEY.search(plain) or plain.count("=") + len(_TABLE.findall(plain)) > MOST_TOML_KEYS:
            raise ValueError(f"more than {MOST_TOML_KEYS} keys, or parts of a key; a problem has a dozen")
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{file} is not a TOML file: {error}{or_else}") from None
    except RecursionError:
        raise ValueError(f"{file}: brackets are nested too deeply; a matrix has two levels") from None
    except ValueError as error:  # too many keys, or a number of more digits than Python reads
        raise ValueError(f"{file}: {error}") from None
