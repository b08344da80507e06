"""The report of a reproduction: every claim with its verdict, figures and data in one self-contained page."""

from ebbing.report._page import report_page, write_report

__all__ = ["report_page", "write_report"]
