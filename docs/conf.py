"""Sphinx configuration of the documentation site: `make docs` builds it, and no request leaves it."""

from __future__ import annotations

import builtins
import re
import runpy
import sys
from pathlib import Path
from typing import Any

from sphinx.domains.python import PyObject
from sphinx.ext.autodoc.mock import mock

from ebbing import __version__

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

project = "ebbing"
author = "the ebbing developers"
project_copyright = "the ebbing developers, Apache-2.0"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # copies MathJax from an installed package into the site: no CDN
    "sphinx_copybutton",
]
exclude_patterns = []

# Pages are plain Markdown that GitHub renders, too: $...$ and ```math for formulas, links to headings by their slugs.
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 4
myst_dmath_double_inline = True

html_theme = "furo"
html_title = f"ebbing {__version__}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
# MathJax matches the height of the letters around; a little less lets long formulas fit the column.
mathjax3_config = {"chtml": {"displayAlign": "left", "displayIndent": "1.5em", "scale": 0.9}}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

# The reference is built from __all__ of the packages.
# Private base classes have no page: what they give is documented where it is inherited.
autodoc_default_options = {
    "members": True,
    "member-order": "bysource",
    "inherited-members": ", ".join(
        [
            "ABC",
            "BaseException",
            "Exception",
            "Generic",
            "Module",
            "NamedTuple",
            "OSError",
            "Protocol",
            "ValueError",
            "dict",
            "list",
            "tuple",
        ]
    ),
}
autodoc_mock_imports = ["avalanche", "lightning", "transformers"]  # their own classes have no page here
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"  # methods stand below their class: its name would only break the lines
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_attr_annotations = False
napoleon_use_rtype = False

# Every reference must resolve. There are no inventories offline, so types of other packages and of the standard
# library cannot be linked: they are the only exceptions.
nitpicky = True
_OTHERS = (
    "numpy",
    "ndarray",
    "np",
    "npt",
    "torch",
    "nn",
    "matplotlib",
    "pandas",
    "pd",
    "rich",
    "distributed",
    "lightning",
    "transformers",
    "pathlib",
    "os",
)
_STANDARD = sorted({*sys.stdlib_module_names, *vars(builtins)})
nitpick_ignore_regex = [
    ("py:.*", rf"({'|'.join(map(re.escape, _OTHERS))})(\..*)?"),
    ("py:.*", rf"({'|'.join(map(re.escape, _STANDARD))})(\..*)?"),
    ("py:.*", r"ebbing\.(.+\.)?_.+"),  # private modules have no page
    ("py:class", r"ebbing\.forecasting\.recursion\.KernelModel"),
    (
        "py:class",
        r"AbstractContextManager|Array|ArrayLike|Axes|Dataset|Figure|Kind|Mapping|Path|AuthorsDeviation|Quantity|StartFrom",
    ),  # types that are imported for type checkers only, and aliases
]


def _strip_doctest_ends(app: Any, page: str, source: list[str]) -> None:
    """Remove what doctest needs and readers do not: the empty line before the end of a code block, calls of a shell."""
    source[0] = source[0].replace("\n\n```\n", "\n```\n")
    source[0] = re.sub(r'```python\n>>> shell\("[^"]*"\)\n', "```text\n", source[0])  # the command stands above it


def _drop_back_links(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Remove the links from source code back to the reference: viewcode gets them wrong for re-exported names."""
    if page.startswith("_modules/"):
        context["body"] = re.sub(r'<a class="viewcode-back".*?</a>', "", context["body"], flags=re.DOTALL)


def _write_explorer(app: Any, failure: Exception | None) -> None:
    """Put the explorer beside the pages."""
    from ebbing.explorer import write_explorer

    if failure is None and app.builder.format == "html":
        write_explorer(Path(app.outdir) / "explorer.html")


def setup(app: Any) -> None:
    """Draw the figures of the pages, and let autodoc read the docstrings as they are written.

    Args:
        app: the Sphinx application.
    """
    import _docstrings
    import _line_breaks

    for script in sorted((HERE / "figures").glob("*.py")):
        runpy.run_path(str(script), run_name="__main__")
    with mock(autodoc_mock_imports):
        app.add_config_value("ebbing_public_names", _docstrings.public_names(), "env")
    for fields in PyObject.doc_field_types:
        if fields.name == "variable":
            fields.label = "Attributes"
    app.connect("source-read", _strip_doctest_ends)
    app.connect("build-finished", _write_explorer)
    app.connect("html-page-context", _drop_back_links)
    app.connect("html-page-context", _line_breaks.break_names)
    app.connect("autodoc-process-docstring", _docstrings.process, priority=400)
    app.connect("autodoc-process-signature", _docstrings.simplify_signature)
    app.connect("doctree-resolved", _docstrings.shorten_annotations)
    app.connect("doctree-resolved", _line_breaks.add_breaks)
    app.connect("missing-reference", _docstrings.resolve_public_name)
    app.connect("autodoc-skip-member", _docstrings.skip_elsewhere)
