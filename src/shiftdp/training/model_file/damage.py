"""Why a model file is refused."""

from __future__ import annotations

__all__ = ["Damaged"]


class Damaged(Exception):
    """What is wrong with the content of a model file, to be said in one refusal.

    Args:
        problem: continues a sentence that begins with the name of the file.
        remedy: what to do, if it is not to look for an undamaged copy.
    """

    def __init__(
        self, problem: str, remedy: str = "give a file as save_model wrote it, unchanged"
    ) -> None:
        super().__init__(problem, remedy)
        self.problem = problem
        self.remedy = remedy
