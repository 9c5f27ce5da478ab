"""Sphinx's configuration of the site; scripts/docs builds it."""

project = "Strata"
author = "the Strata authors"
extensions = ["myst_parser"]
exclude_patterns = []
html_theme = "furo"
html_title = "Strata"
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["misc.highlighting_failure"]  # of assembly and HIP
linkcheck_timeout = 20
