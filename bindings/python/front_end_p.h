#pragma once
#include <memory>
#include <utility>

#include "strata/core/support/interrupt.h"
#include "strata/core/support/parallel.h"
#include "strata/core/support/settings.h"

namespace strata::python {

/// Those of the context that runs (contextvars); null: the environment's.
std::shared_ptr<const Settings> settings_of_context();

/// body() without the GIL, for whatever computes or waits: with the settings of the context that runs, a stack that a
/// compiler can use, and Ctrl-C heeded. A thread that Python no longer takes back stays in here for good.
template <class Body>
auto computing(Body&& body) {
    ScopedSettings scope(settings_of_context());
    OutsideFrontEnd outside;
    return with_stack(body);
}

/// While one lives Python does not end: for functions of others that give up the GIL.
class HoldUpTheEnd {
  public:
    HoldUpTheEnd();
    ~HoldUpTheEnd();
    HoldUpTheEnd(const HoldUpTheEnd&) = delete;
};

}  // namespace strata::python
