"""`shiftdp explore`: a page on this machine that answers while one changes a run. Needs `explore`.

Dash is imported by the modules that draw the page, and by nothing else here.
"""
