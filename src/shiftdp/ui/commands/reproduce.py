"""`shiftdp reproduce`: every table and figure of the paper."""

from __future__ import annotations

from collections.abc import Sequence

import click

from shiftdp.ui.group import Command
from shiftdp.ui.options import ANSWER, answer_options, option_group
from shiftdp.ui.output import print_json, print_pairs, print_table
from shiftdp.ui.progress import waiting


@click.command(
    "reproduce",
    cls=Command,
    examples=(
        "shiftdp reproduce --data mnist --out reproduction",
        "shiftdp reproduce --quick",
        "shiftdp reproduce --no-training --json",
    ),
)
@option_group(
    "What is trained on",
    data={
        "type": click.Path(),
        "metavar": "DIR",
        "help": "The folder with the four IDX files of MNIST, gzipped or not. Without it they come "
        "from OpenML through scikit-learn.",
    },
    quick={
        "is_flag": True,
        "help": "The digits that come with scikit-learn instead, and 2 runs: a rehearsal of a "
        "minute.",
    },
    training={
        "switch": True,
        "default": True,
        "help": "Whether to train at all; everything else needs no data.",
    },
    runs={
        "type": click.IntRange(1),
        "help": "How many for each setting; 10 by default, 2 with --quick.",
    },
    seed={"type": click.IntRange(0), "default": 1},
)
@option_group(
    ANSWER,
    out={
        "type": click.Path(file_okay=False),
        "default": "reproduction",
        "metavar": "DIR",
        "help": "The folder to write; open index.html in it.",
    },
)
@answer_options()
@click.pass_context
def command(
    ctx: click.Context,
    data: str | None,
    quick: bool,
    training: bool,
    runs: int | None,
    seed: int,
    out: str,
    json: bool,
) -> int:
    """Every table and figure of the paper, computed again beside what was printed.

    Writes CSV, LaTeX, PNG, SVG and a page that needs no network, all as it goes: what is done by
    then is there if it is interrupted. Training 10 runs on MNIST takes 12 to 25 minutes on two
    cores, all else half a minute. Ends with 1 if a number that should agree does not. Needs the
    extra `reproduce`.
    """
    from shiftdp.ui.refusals import Refused

    if data is not None and (quick or not training):
        other = "--quick" if quick else "--no-training"
        raise Refused(f"--data {data}: is not used with {other}; leave one of them out", ctx)
    _require_matplotlib()
    from shiftdp.ui.reproduce.contents import Reproduction, reproduce, work
    from shiftdp.ui.reproduce.figures.picture import Picture
    from shiftdp.ui.reproduce.grid import Table
    from shiftdp.ui.reproduce.images import digits, mnist_from_openml, mnist_in
    from shiftdp.ui.reproduce.page import prepare_folder, summary, write_index, write_parts

    images = None
    if training:
        images = digits() if quick else mnist_from_openml() if data is None else mnist_in(data)
    folder = prepare_folder(out)  # nothing is left behind where there are no data
    number = runs if runs is not None else 2 if quick else 10

    def keep(made: Reproduction, new: Sequence[Table | Picture]) -> None:
        write_parts(new, folder)  # first, as the page shows them
        write_index(made, folder)

    with waiting("reproducing", work(images, number), silent=json, logged=True) as shown:
        made = reproduce(images, number, seed, shown, keep)
        index = write_index(made, folder)
    found = summary(made)
    if json:
        print_json({"index": str(index), **found})
    else:
        verdicts = found["verdicts"]
        counted = verdicts if isinstance(verdicts, dict) else {}
        pairs = [(str(name), str(count)) for name, count in counted.items()]
        print_pairs(f"{len(made.tables)} tables and {len(made.pictures)} figures", pairs)
        if made.failures:
            rows = [
                (label, entry.setting, entry.quantity, entry.published, entry.here)
                for label, entry in made.failures
            ]
            print_table(("", "setting", "quantity", "published", "here"), rows, title="differ")
        click.echo(f"open {index}")
    return 1 if made.failures else 0


def _require_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise click.ClickException(
            "reproduce needs matplotlib, which is not installed: pip install 'shiftdp[reproduce]'"
        ) from error
