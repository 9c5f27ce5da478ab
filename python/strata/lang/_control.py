"""Functions that rewritten code calls (`_rewrite`), by these names."""

import builtins

from ._branches import branch as branch
from ._carry import UNBOUND as UNBOUND
from ._functions import function as function
from ._logic import (
    asserted as asserted,
    both as both,
    chosen as chosen,
    contains as contains,
    either as either,
    keep as keep,
    kept as kept,
    link as link,
    none_of as none_of,
    not_ as not_,
    nothing as nothing,
    other as other,
    plain as plain,
    returned as returned,
    subject as subject,
    then as then,
    unless as unless,
    when as when,
)
from ._loops import loop as loop, while_ as while_
from ._state import changed as changed, made as made, outlives as outlives, result as result

locals = builtins.locals
