"""What the loop wants of a source, all sources have."""

from typing import Any, get_type_hints

import pytest

from shiftdp.training.cluster.source import ClusterSource
from shiftdp.training.descent.gradient import LocalSource
from shiftdp.training.descent.source import Elsewhere, Source


@pytest.mark.parametrize("kind", [LocalSource, ClusterSource])
def test_a_source_has_everything_that_the_loop_asks_for(kind: Any) -> None:
    asked = {name for name in vars(Source) if not name.startswith("_")}
    assert asked == {"features", "mapped", "gradient"}
    assert asked <= set(dir(kind))
    assert get_type_hints(kind.gradient).keys() == get_type_hints(Source.gradient).keys()


def test_a_table_elsewhere_must_say_its_shape_and_where_its_records_are() -> None:
    with pytest.raises(TypeError, match="shape"):
        Elsewhere()  # type: ignore[abstract]
