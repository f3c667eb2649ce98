"""The documentation site: `make docs` builds it, from this folder, the docstrings and the examples."""

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

# The examples run for some minutes: BAGWISE_GALLERY=0 leaves them out.
with_gallery = os.environ.get("BAGWISE_GALLERY", "1") != "0"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "reference_pages",
    "start_pictures",
    *(["sphinx_gallery.gen_gallery"] if with_gallery else []),
]
exclude_patterns = ["_build", "_ext", "**/README.md"]
if not with_gallery:
    exclude_patterns.append("tutorials")
templates_path = ["_templates"]

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3

# The reference is written by docs/_ext/reference_pages.py, a page for every public name.
autosummary_generate = [str(HERE / "reference" / "index.rst")]
autodoc_typehints = "none"  # numpydoc's sections say more
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
default_role = "py:obj"  # a name in backticks is a link where it is a public one

if with_gallery:
    sphinx_gallery_conf = {
        "examples_dirs": str(HERE.parent / "examples"),
        "gallery_dirs": "tutorials",
        "filename_pattern": "/plot_",
        "ignore_pattern": "example_data",
        "doc_module": ("bagwise",),
        "backreferences_dir": "reference/used_in",
        "reference_url": {"bagwise": None},
        "min_reported_time": 1,
        "abort_on_example_error": True,
        "remove_config_comments": True,
    }

html_theme = "pydata_sphinx_theme"
html_title = "bagwise"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_sidebars = {"index": [], "start": [], "which_model": []}
html_theme_options = {
    "logo": {"text": "bagwise"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "navigation_with_keys": False,
}
