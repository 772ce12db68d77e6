"""Fitted models in files that cannot run code when they are read.

A model file is a zip archive with four kinds of members:

- `model.json`: the estimator or the pipeline, with parameters, plan and attributes;
- `certificate.json`: the certificate, as `Certificate.to_json` writes it;
- `arrays/0000.npy` and so on: weights and other arrays;
- `digest.txt`: the SHA-256 of all the others.

Nothing in a file is executed, evaluated or imported by name: what it describes is built from the
closed lists of this package. The digest binds weights, plan and certificate together against
accidents and hands that change one of them; it is no signature, and whoever writes files can also
write it. What holds against everybody is that the certificate is of the plan's run and its proof
holds. That this run made the weights, with noise that nobody knows, only a signature could show.
"""

from __future__ import annotations

import json
import os
import re
import stat
import warnings
from dataclasses import dataclass
from typing import Any

from shiftdp._errors import InvalidInput, ShiftdpError
from shiftdp._files import write_file
from shiftdp._version import VERSION
from shiftdp.last_iterate import Certificate
from shiftdp.privacy.pipeline_certificate import PipelineCertificate
from shiftdp.privacy.selection.selection_certificate import SelectionCertificate
from shiftdp.training.estimators.base import PrivacyLeakWarning
from shiftdp.training.estimators.scored import fit_certificate, stated_delta
from shiftdp.training.model_file.archive import LONGEST, Damaged, digest_of, pack, unpack
from shiftdp.training.model_file.chosen import CHOSEN, read_selection, selection_of
from shiftdp.training.model_file.fitted import is_ours, read_fitted, write_fitted
from shiftdp.training.model_file.plans import require_match
from shiftdp.training.model_file.prepared import (
    certify_pipeline,
    prepared_readers,
    with_encoders,
    write_prepared,
)
from shiftdp.training.model_file.transformers import (
    learnt_steps,
    step_readers,
    steps_inside,
    write_step,
)
from shiftdp.training.model_file.values import ArrayReader, Reader, Writer, fields_of
from shiftdp.training.planning.planner import Planned
from shiftdp.training.preparation.pipeline import PrivatePipeline
from shiftdp.training.selection.search import PrivateSearchCV

import sklearn  # isort: skip  (after the estimators, which say what to install without it)
from sklearn.pipeline import Pipeline  # isort: skip

FORMAT = "shiftdp-model/1"
_MODEL, _CERTIFICATE, _DIGEST = "model.json", "certificate.json", "digest.txt"
_FIELDS = ("format", "shiftdp", "scikit-learn", "model")
_MOST_VALUES = 10**6  # in the JSON of one member: each takes a hundred bytes of memory
_OURS = "model"  # the key of our own estimator among the values
_UNEXPECTED = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What constructors may raise at values that no check has foreseen: the file is refused for it."""


@dataclass(frozen=True)
class ModelFile:
    """What a model file holds.

    Attributes:
        model: the estimator, or the pipeline that ends in it.
        planned: the plan of the run.
        certificate: of the plan's run. Its proof has been checked, also where the run was seeded.
        digest: the SHA-256 of everything in the file, which names this model.
        learnt: the steps before the model that were fitted to data, which nothing covers.
        classes_learnt: whether the classes were read off the labels, which nothing covers.
        pipeline: the certificate of all steps together, of a PrivatePipeline and of others in which
            an encoder learnt something.
        selection: the certificate of the search that chose the model, if there was one.
    """

    model: Any
    planned: Planned
    certificate: Certificate
    digest: str
    learnt: tuple[str, ...]
    classes_learnt: bool
    pipeline: PipelineCertificate | None = None
    selection: SelectionCertificate | None = None

    @property
    def whole(self) -> Certificate | PipelineCertificate | SelectionCertificate:
        """The certificate of everything that the model released: what it is to be charged with."""
        return self.selection or self.pipeline or self.certificate

    @property
    def delta(self) -> float:
        """Where the guarantee is stated unless another delta is asked for."""
        return stated_delta(self.selection, self.planned.problem.delta)


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator, or a pipeline that ends in one, with its plan and certificate.

    Whatever cannot be held is refused before anything is written, by its name. The file holds no
    path: of a ledger its file name, of the cache of a pipeline nothing.

    Args:
        model: one of the estimators of `shiftdp.sklearn`, a PrivatePipeline, or a scikit-learn
            Pipeline whose last step is one and whose other steps are on the list in
            docs/training.md. Of a PrivateSearchCV it is the model that was chosen, with the
            certificate of the search.
        path: the file, which is replaced as a whole or left as it is.
    """
    if type(model) is PrivateSearchCV and hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    _require_fitted(model)
    versions = {"shiftdp": VERSION, "scikit-learn": sklearn.__version__}
    data = _packed(model, versions)
    try:
        found = _read(data)
    except Damaged as error:
        raise InvalidInput(
            "model",
            f"<{type(model).__name__}>",
            f"{error.problem}: it could not be read again",
            "fit it again, and do not change its attributes",
        ) from error
    if found.learnt:
        warnings.warn(
            f"the steps {', '.join(found.learnt)} were fitted to data, and what they learnt is "
            "released without noise: the certificate covers the last step only. Fit them to public "
            "data, or give them their parameters",
            PrivacyLeakWarning,
            stacklevel=2,
        )
    write_file(path, data)


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read what `save_model` wrote; anything else is refused, and nothing in it is executed.

    The digest, and that the certificate is of the plan's run and its proof holds, are checked; the
    parameters are as they were set last, and need not be those of the plan. A model whose `ledger`
    was given gets its file name alone: to fit again, stand in its folder or set the ledger anew.
    """
    return read_model(path).model


def read_model(path: str | os.PathLike[str]) -> ModelFile:
    """The model in a file with its plan, certificate and digest."""
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            # what is asked for is reserved at once: no more than there is, where that is known
            state = os.fstat(file.fileno())
            size = state.st_size if stat.S_ISREG(state.st_mode) else LONGEST
            data = file.read(min(LONGEST, size) + 1)
    except OSError as error:
        raise InvalidInput(
            "path", name, f"cannot be read ({error.strerror})", "give a file that save_model wrote"
        ) from error
    try:
        return _read(data)
    except Damaged as error:
        raise InvalidInput("path", name, error.problem, error.remedy) from error


# --- writing ---


def _require_fitted(model: Any) -> None:
    last = _last(model)
    if last is None:
        known = "PrivateLogisticRegression, PrivateLinearSVC or PrivateHuberRegressor"
        raise InvalidInput(
            "model",
            f"<{type(model).__module__}.{type(model).__qualname__}>",
            "is neither a private model nor a pipeline that ends in one",
            f"give a {known}, a Pipeline with one as its last step, or the best_estimator_ of a "
            "search",
        )
    if not hasattr(last, "coef_"):
        raise InvalidInput("model", f"<{type(last).__name__}>", "is not fitted", "call fit first")


def _last(model: Any) -> Any:
    """Our own estimator at the end of nested pipelines, or None."""
    while type(model) in (Pipeline, PrivatePipeline) and model.steps:
        model = model.steps[-1][1]
    return model if is_ours(model) else None


def _packed(model: Any, versions: dict[str, str]) -> bytes:
    last = _last(model)

    def known(writer: Writer, value: Any, where: str) -> Any:
        if value is last:
            return {_OURS: write_fitted(writer, value, where)}
        if is_ours(value):
            raise InvalidInput(
                where, f"<{type(value).__name__}>", "is not the last step", "give a pipeline of one"
            )
        if type(value) is PrivatePipeline and value is not model:
            raise InvalidInput(
                where, "<PrivatePipeline>", "is inside of another pipeline", "save it by itself"
            )
        prepared = write_prepared(writer, value, where)
        return write_step(writer, value, where) if prepared is None else prepared

    writer = Writer(known)
    document = {"format": FORMAT, **versions, "model": writer.write(model, "model")}
    document |= selection_of(last)
    members = {
        _MODEL: _canonical(document),
        _CERTIFICATE: f"{fit_certificate(last).to_json()}\n".encode(),
        **{_array_name(i): array for i, array in enumerate(writer.arrays)},
    }
    if any(_values(members[name]) > _MOST_VALUES for name in (_MODEL, _CERTIFICATE)):
        raise InvalidInput(
            "model",
            f"<{type(model).__name__}>",
            "has too many single values for a model file",
            "give categories and names as arrays of fixed-width text, or fewer of them",
        )
    size = sum(map(len, members.values()))
    if size > LONGEST - 2**20 or len(writer.arrays) > 9_000:
        raise InvalidInput(
            "model", f"<{size} bytes>", "is too large for a model file", "save its parts"
        )
    return pack({**members, _DIGEST: f"{digest_of(members)}\n".encode()})


def _array_name(number: int) -> str:
    return f"arrays/{number:04d}.npy"


def _canonical(document: Any) -> bytes:
    return (json.dumps(document, allow_nan=False) + "\n").encode("ascii")


# --- reading ---


def _read(data: bytes) -> ModelFile:
    if len(data) > LONGEST:
        raise Damaged("is too large for a model file")
    if not data.startswith(b"PK"):
        raise Damaged("is no model file", "give what save_model wrote")
    try:
        members = unpack(data)
    except Damaged:
        if b"schema.json" in data:
            raise Damaged(
                "has the format of skops, which earlier versions wrote and which could run code",
                "fit the model again and save it; nothing of the file was read",
            ) from None
        raise
    try:
        return _read_members(members)
    except Damaged:
        raise
    except _UNEXPECTED as error:
        raise Damaged("is damaged") from error


def _read_members(members: dict[str, bytes]) -> ModelFile:
    document = _document(members.get(_MODEL, b""))
    arrays = [name for name in members if name.startswith("arrays/")]
    expected = [_MODEL, _CERTIFICATE, *(_array_name(i) for i in range(len(arrays))), _DIGEST]
    if list(members) != expected:
        raise Damaged("has parts that are missing, or not expected")
    digest = digest_of({name: part for name, part in members.items() if name != _DIGEST})
    if members[_DIGEST] != f"{digest}\n".encode():
        raise Damaged("was changed since it was written: its digest is another")
    sklearn_version = document["scikit-learn"]
    if not isinstance(document["shiftdp"], str) or not isinstance(sklearn_version, str):
        raise Damaged("has no versions")
    taken = ArrayReader([members[name] for name in arrays])
    fitted: list[Any] = []

    def ours(reader: Reader, content: Any) -> Any:
        fitted.append(read_fitted(reader, content))
        return fitted[-1]

    reader = Reader(taken, {**step_readers(), **prepared_readers(), _OURS: ours})
    model = reader.read(document["model"])
    taken.require_all_used()
    if len(fitted) != 1 or _last(model) is not fitted[0]:
        raise Damaged("does not end in one private model")
    certificate = _certificate(members[_CERTIFICATE])
    planned: Planned = fitted[0].plan_
    state = getattr(fitted[0], "stream_", None)
    require_match(planned.plan, certificate, None if state is None else state.stream)
    fitted[0].certificate_ = certificate
    if model is not fitted[0]:
        _compare_versions(sklearn_version)
    classes_learnt = bool(getattr(fitted[0], "classes_learnt_", False))
    steps = Pipeline(model.steps) if type(model) is PrivatePipeline else model
    whole: PipelineCertificate | None
    others: list[str] = []
    if type(model) is PrivatePipeline:
        certify_pipeline(model, certificate)
        whole = model.certificate_
    else:
        whole, others = with_encoders(steps_inside(model), certificate)
    learnt = (*learnt_steps(steps), *others)
    chosen = read_selection(document, model if type(model) is PrivatePipeline else fitted[0])
    if chosen is not None and whole is not None and type(model) is not PrivatePipeline:
        raise Damaged("has an encoder that is not part of the search that chose its model")
    return ModelFile(model, planned, certificate, digest, learnt, classes_learnt, whole, chosen)


def _document(text: bytes) -> dict[str, Any]:
    """Strict JSON: no key twice, no NaN, nothing but what `_canonical` writes."""
    _require_few(text)
    try:
        document = json.loads(text.decode("ascii"), parse_constant=_no_constant)
        same = _canonical(document) == text
    except (ValueError, RecursionError) as error:
        raise Damaged("has a description that is not JSON") from error
    if not isinstance(document, dict) or not same:
        raise Damaged("has a description that is not as it was written")
    found = document.get("format")
    if isinstance(found, str) and re.fullmatch(r"shiftdp-model/([2-9]|[1-9][0-9]{1,8})", found):
        raise Damaged(
            f"has the format {found}, which is newer than this shiftdp, {VERSION}",
            "install a newer one: pip install --upgrade shiftdp",
        )
    if found != FORMAT:
        raise Damaged("has another format than model files have")
    fields_of({key: value for key, value in document.items() if key != CHOSEN}, _FIELDS)
    return document


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _values(text: bytes) -> int:
    """At least as many values as a JSON text has: each but the first follows one of these."""
    return 1 + sum(map(text.count, (b",", b"[", b"{")))


def _require_few(text: bytes) -> None:
    if _values(text) > _MOST_VALUES:
        raise Damaged("has more values in its description than a model has")


def _certificate(text: bytes) -> Certificate:
    _require_few(text)
    try:
        return Certificate.from_json(text.decode("utf-8"))
    except (ShiftdpError, ValueError) as error:
        raise Damaged("has a certificate that cannot be read") from error


def _compare_versions(written: str) -> None:
    """Of a pipeline: what attributes mean may differ between releases of scikit-learn."""
    if written.split(".")[:2] == sklearn.__version__.split(".")[:2]:
        return
    from sklearn.exceptions import InconsistentVersionWarning

    warnings.warn(
        InconsistentVersionWarning(
            estimator_name="Pipeline",
            current_sklearn_version=sklearn.__version__,
            original_sklearn_version=written[:20],
        ),
        stacklevel=4,
    )
