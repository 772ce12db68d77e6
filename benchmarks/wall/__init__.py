"""The benchmark wall: every claim beside a peer or a floor, and no ratio of unequal things.

    python benchmarks/wall                      all claims (`make bench`): table, CSV, figure
    python benchmarks/wall --only calibrate     those of one file; the others keep their rows
    python benchmarks/wall --timing             those about time; the others keep their rows
    python benchmarks/calibrate.py              one file by itself, with its own details

A claim has two sides, ours and that of a peer, of a floor or of a limit. In each round both are
read, one after the other, and each gives a figure (processor seconds, mostly) together with the
answer that it found. The ratio of a claim is the median of the rounds' ratios, and its spread the
least and the largest; it is printed only if the answers of all rounds agree within the accuracy
that the claim states. Otherwise the row says why there is no ratio.

Peers are asked in environments of their own, `.peers/<name>`, through a process that reads and
writes JSON (`environments.py`, `serve.py`, `peers/`).

To add a claim: a file of `benchmarks/` that does not begin with an underscore has a function

    def claims(full: bool) -> Iterator[Claim]:
        yield Claim(
            name="certify/limit",                       # file/what, once on the wall
            what="a certificate and its epsilon",       # the problem that both sides solve
            ours=Here("certify + epsilon", call),       # call() -> answer; timed
            other=Peer("dp_accounting", "task", {"argument": 1}),   # or Here, Limit, Reads
            agree=within(1e-3),                         # answers -> None, or why they differ
            kind="peer",                                # or "floor", "limit"
            goal=100.0,                                 # at least for a peer, else at most
        )

and ends in `if __name__ == "__main__": show(claims(full="--full" in sys.argv))`. A new task of a
peer is a function of JSON values in `peers/<name>.py`; a new peer is a line in `environments.py`
and such a file. What a claim needs that is large or slow (files, models) is made by the generator
just before the claim is yielded: the wall measures each claim before it asks for the next. A claim
that takes minutes is yielded if `full` only.
"""

from .agreement import as_accurate, same, within
from .claim import Claim, Reading
from .print import show
from .sides import Here, Limit, Peer, Reads

__all__ = [
    "Claim",
    "Here",
    "Limit",
    "Peer",
    "Reading",
    "Reads",
    "as_accurate",
    "same",
    "show",
    "within",
]
