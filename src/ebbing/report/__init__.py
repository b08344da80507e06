"""Pages: the report of a reproduction, and the page of any result, each one self-contained file."""

from ebbing.report._page import report_page, write_report
from ebbing.report._result_page import result_page, write_result

__all__ = ["report_page", "result_page", "write_report", "write_result"]
