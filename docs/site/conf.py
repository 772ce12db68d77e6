"""How Sphinx makes the site out of docs/: `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]  # the extensions below, and the code as it is here

from shiftdp import __version__ as version  # noqa: E402

project = "shiftdp"
author = "The shiftdp developers"
copyright = author  # noqa: A001
release = version

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "docs.site.docstrings",
    "docs.site.sources",
    "docs.site.theorem_index",
]
exclude_patterns = ["site"]
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["attrs_block", "dollarmath"]
myst_heading_anchors = 4
myst_url_schemes = {
    "http": None,
    "https": None,
    "mailto": None,
    "repository": {"url": "{{path}}"},  # made by docs.site.sources
}

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
python_use_unqualified_type_names = True

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"

# a copy of MathJax, so that formulas can be read without a network
mathjax_path = "mathjax/tex-chtml.js"

html_theme = "pydata_sphinx_theme"
html_title = "shiftdp"
html_static_path = ["static"]
html_css_files = ["shiftdp.css"]
html_copy_source = False
html_show_sourcelink = False
html_sidebars = {  # pages that are a section of their own have no list of its pages
    page: []
    for page in ("tutorial", "gallery", "command_line", "contributing", "changelog", "files/**")
}
html_theme_options = {
    "navbar_align": "left",
    "show_prev_next": True,
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
