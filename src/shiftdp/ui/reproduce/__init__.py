"""Every table and figure of the paper, computed again and compared with what was printed.

`tables/` and `figures/` have a short module for each (tables that differ in one parameter share
one); `experiment.py` trains, `folder.py` and `page.py` write what comes out. The command is
`shiftdp reproduce`.
"""
