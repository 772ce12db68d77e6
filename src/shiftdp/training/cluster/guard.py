"""Errors that cross from a worker to the driver, without the data that they were about.

An exception of pandas, Arrow or NumPy may quote entries, and Dask carries exceptions to the driver
and writes them to the worker's log. So what runs on workers here returns its refusals instead of
raising them: those of shiftdp, which tell shapes and types only, and of any other exception no more
than the name of its type.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

from shiftdp._errors import InvalidInput, ShiftdpError

P = ParamSpec("P")
T = TypeVar("T")


class ClusterFailed(ShiftdpError):
    """The workers could not do what they were asked, and trying again did not help."""


class RecordsChanged(ShiftdpError):
    """Blocks that were read again, after a worker was lost, have other records than before."""


class Refusal(NamedTuple):
    """What `InvalidInput` says, on its way to the driver."""

    name: str
    value: str
    problem: str
    remedy: str


class Failure(NamedTuple):
    """Any other exception: the name of its type."""

    kind: str


def guarded(call: Callable[..., Any], *arguments: Any) -> Any:
    """What the call returns; or what it raised, as a `Refusal` or a `Failure`.

    >>> guarded(int, "a secret")
    Failure(kind='ValueError')
    """
    try:
        return call(*arguments)
    except InvalidInput as error:
        return Refusal(error.name, str(error.value), error.problem, error.remedy)
    except Exception as error:
        return Failure(type(error).__name__)


def guarded_method(method: Callable[P, T]) -> Callable[P, T | Refusal | Failure]:
    """A method that does not raise, but returns what it would have raised: see `guarded`."""

    @wraps(method)
    def call(*arguments: P.args, **named: P.kwargs) -> T | Refusal | Failure:
        found: T | Refusal | Failure = guarded(partial(method, *arguments, **named))
        return found

    return call


def opened(answer: Any) -> Any:
    """The answer of a worker, on the driver; a refusal is raised.

    >>> opened(Failure("ValueError"))
    Traceback (most recent call last):
    ...
    shiftdp.training.cluster.guard.ClusterFailed: a worker refused its records with ValueError; \
compute a block by itself to see why
    """
    if isinstance(answer, Refusal):
        raise InvalidInput(*answer)
    if isinstance(answer, Failure):
        raise ClusterFailed(
            f"a worker refused its records with {answer.kind}; compute a block by itself to see why"
        )
    return answer
