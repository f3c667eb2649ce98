"""Sphinx configuration of the documentation site; `make docs` builds it."""

import os
import sys
from pathlib import Path

import bagwise

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "bagwise"
author = "the bagwise developers"
copyright = author
version = release = bagwise.__version__

# The examples take a few minutes. With BAGWISE_GALLERY=0, their pages have the code without results.
with_results = os.environ.get("BAGWISE_GALLERY", "1") != "0"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "reference_pages",
    "start_pictures",
    "decision_picture",
    "page_gallery",
    "tutorials",
    "no_network",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_ext", "**/README.md"]
templates_path = ["_templates"]

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3

# docs/_ext/reference_pages.py writes the reference: one page for every public name.
autosummary_generate = [str(HERE / "reference" / "index.rst")]
autodoc_typehints = "none"  # the numpydoc sections already contain types
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
default_role = "py:obj"  # public names in backticks become links

sphinx_gallery_conf = {
    "plot_gallery": str(with_results),
    "examples_dirs": "_build/examples",  # a copy: docs/_ext/tutorials.py
    "gallery_dirs": "tutorials",
    "filename_pattern": "/plot_",
    "ignore_pattern": "example_data",
    "within_subsection_order": "tutorials.index_of",
    "image_scrapers": ("matplotlib", "tutorials.scrape_displays"),
    "image_srcset": ["2x"],
    "ignore_repr_types": "Display",  # the scraper shows it as a figure
    "doc_module": ("bagwise",),
    "backreferences_dir": "reference/used_in",
    "show_signature": False,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "remove_config_comments": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "bagwise"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
toc_object_entries_show_parents = "hide"
html_sidebars = {"index": [], "start": [], "which_model": []}
html_theme_options = {
    "logo": {"text": "bagwise"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navbar_end": ["theme-switcher"],
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "navigation_with_keys": False,
}
