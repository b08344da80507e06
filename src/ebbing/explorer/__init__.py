"""The explorer: one self-contained page in which the recursion runs as sliders move."""

from ebbing.explorer._page import explorer_page, write_explorer

__all__ = ["explorer_page", "write_explorer"]
