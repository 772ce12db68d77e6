"""The statement as a section of a model card: Markdown below metadata as model hubs read them."""

from __future__ import annotations

from shiftdp.privacy.statement.blocks import Block, Grid, Items, Pairs, Picture, plain_line
from shiftdp.privacy.statement.contents import headline, levels, title
from shiftdp.privacy.statement.subject import Statement


def model_card(statement: Statement) -> str:
    """A section of a model card in Markdown, below metadata as model hubs read them."""
    head = [
        "---",
        "library_name: sklearn" if statement.model is not None else "library_name: shiftdp",
        "tags:",
        *(f"- {tag}" for tag in _tags(statement)),
        "---",
        "",
    ]
    lines = [
        *head,
        f"# {_markdown(title(statement))}",
        "",
        f"**{_markdown(plain_line(headline(statement)))}**",
    ]
    if not statement.private:
        lines += ["", "**NOT PRIVATE: the noise came from a seed.**"]
    for level in levels(statement):
        lines += ["", f"## {_markdown(level.heading)}"]
        for section in level.sections:
            lines += ["", f"### {_markdown(section.heading)}"]
            for block in section.blocks:
                lines += ["", *_markdown_block(block)]
    return "\n".join(lines) + "\n"


def _tags(statement: Statement) -> list[str]:
    tags = ["differential-privacy", "privacy", "shiftdp"]
    if statement.model is not None:
        tags += ["sklearn", "skops", "tabular-regression" if "Regressor" in (
            statement.model.estimator
        ) else "tabular-classification"]  # fmt: skip
    return tags


def _markdown_block(block: Block) -> list[str]:
    if isinstance(block, Pairs):
        return [f"- **{_markdown(name)}**: {_markdown(plain_line(text))}" for name, text in (
            block.rows
        )]  # fmt: skip
    if isinstance(block, Items):
        return [f"- {_markdown(plain_line(text))}" for text in block.lines]
    if isinstance(block, Grid):
        rows = [[_markdown(plain_line(cell)) for cell in row] for row in block.rows]
        head = [_markdown(name) for name in block.columns]
        rule = ["---"] * len(head)
        return [f"| {' | '.join(row)} |" for row in (head, rule, *rows)]
    if isinstance(block, Picture):
        return [f"*{_markdown(block.title)}: see the statement as a page.*"]
    text = _markdown(plain_line(block.text))
    return [f"**{text}**" if block.loud else text]


def _markdown(text: str) -> str:
    """Text that Markdown and the HTML in it show as it is."""
    for char in "\\*_[]#|<>":
        text = text.replace(char, f"\\{char}")
    return text.replace("&", "&amp;")
