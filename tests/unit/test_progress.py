"""Progress where there is no terminal, as in a log file: a line now and then."""

from ebbing import _progress


def test_log_gets_a_line_now_and_then(capsys, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(_progress.time, "monotonic", lambda: clock[0])
    with _progress.progress_bar("learning") as report:
        for second in range(0, 100, 10):
            clock[0] = float(second)
            report(second / 100, f"{second // 10} of 10 tasks")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [
        "ebbing: learning: 3 of 10 tasks (30%)",
        "ebbing: learning: 6 of 10 tasks (60%)",
        "ebbing: learning: 9 of 10 tasks (90%)",
    ]


def test_quick_work_is_silent(capsys):
    with _progress.progress_bar("simulating") as report:
        report(0.5)
    assert capsys.readouterr() == ("", "")
