#pragma once

namespace strata::python {

/// That this thread is in, one inside of another (strata/_derivatives.py).
extern constinit thread_local int functions_differentiated;

}  // namespace strata::python
