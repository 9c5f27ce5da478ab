"""Tools that measure Strata and its checks from a checkout: importable there as strata_tools, and in no wheel."""
