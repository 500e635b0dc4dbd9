"""Configure Sphinx: `make docs` builds the site from these pages and the docstrings, without a network."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

import w2vtrain

project = "w2vtrain"
author = "The w2vtrain developers"
project_copyright = f"2026, {author}"
version = release = w2vtrain.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "sphinx_click", "sphinx_copybutton", "mathml"]
default_role = "code"
smartquotes = False  # they would turn the hyphens of options into dashes
exclude_patterns = ["_*.md", "*/_*.md"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
autodoc_typehints = "signature"
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = f"w2vtrain {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_search_summary = False  # browsers do not let a page that is a file fetch others
html_math_renderer = "mathml"
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "w2vtrain"},
    "header_links_before_dropdown": 5,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"start": [], "index": [], "objectives": [], "measurements": []}

man_pages = [("reference/commands", "w2vtrain", "train, evaluate and query word embeddings", [author], 1)]
man_show_urls = False
