"""The paper's tables on task order as printed: orders of categories, and polynomials in LaTeX."""

TWO_CATEGORIES = (
    ("ABABAB", r"0"),
    ("AABABB", r"r\left(2-2r+2r^{2}-2r^{3}\right)"),
    ("AABBAB", r"r\left(2-3r+2r^{2}-r^{3}\right)"),
    ("AABBBA", r"r\left(3-3r-r^{3}+r^{4}\right)"),
    ("ABBAAB", r"r\left(2-4r+2r^{2}\right)"),
    ("ABBABA", r"r\left(1-2r+2r^{2}-2r^{3}+r^{4}\right)"),
    ("AAABBB", r"r\left(4-2r-2r^{3}\right)"),
    ("ABABBA", r"r\left(1-2r+2r^{2}-2r^{3}+r^{4}\right)"),
    ("ABAABB", r"r\left(2-3r+2r^{2}-r^{3}\right)"),
    ("ABBBAA", r"r\left(3-3r-r^{3}+r^{4}\right)"),
)
"""Proof of Prop. order2, Table validate_2_groups_6, columns 2 and 3 (A for C_1, B for C_2)."""

THREE_CATEGORIES = (
    ("ABCABC", r"0"),
    ("ABABCC", r"r\left(1+2r-3r^{2}\right)"),
    ("ABBCCA", r"r\left(2-3r^{2}+r^{4}\right)"),
    ("ABACBC", r"r^{2}\left(2-2r\right)"),
    ("ABCBAC", r"r^{2}\left(1-2r+r^{2}\right)"),
    ("ABCACB", r"r^{2}\left(1-2r+r^{2}\right)"),
    ("AABCBC", r"r\left(1+2r-3r^{2}\right)"),
    ("ABBACC", r"r\left(2-2r^{2}\right)"),
    ("AABBCC", r"r\left(3-3r^{2}\right)"),
    ("ABACCB", r"r\left(1+r-3r^{2}+r^{3}\right)"),
    ("ABCCAB", r"r\left(1-3r^{2}+2r^{3}\right)"),
    ("ABCCBA", r"r\left(1-2r^{2}+r^{4}\right)"),
    ("ABBCAC", r"r\left(1+r-3r^{2}+r^{3}\right)"),
    ("AABCCB", r"r\left(2-2r^{2}\right)"),
    ("ABCBCA", r"r^{2}\left(2-3r+r^{3}\right)"),
)
"""Proof of Prop. order3, Table validate_3_groups_6, columns 2 and 3 (A, B, C for C_1, C_2, C_3)."""
