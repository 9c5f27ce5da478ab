#pragma once
#include <memory>
#include <utility>

#include "strata/core/support/interrupt.h"
#include "strata/core/support/parallel.h"
#include "strata/core/support/settings.h"

namespace strata::python {

/// Those of the context that runs (contextvars); null: the environment's.
std::shared_ptr<const Settings> settings_of_context();

template <class Body>
auto computing_with(std::shared_ptr<const Settings> settings, Body&& body) {
    ScopedSettings scope(std::move(settings));
    OutsideFrontEnd outside;
    return with_stack(body);
}
/// body() without the GIL, for whatever computes or waits. It runs with the settings of the running context, on a stack
/// that a compiler can use, and heeds Ctrl-C. A thread that Python no longer takes back stays in here for good.
template <class Body>
auto computing(Body&& body) {
    return computing_with(settings_of_context(), body);
}

/// While one lives Python does not end: for functions of others that give up the GIL.
class HoldUpTheEnd {
  public:
    HoldUpTheEnd();
    ~HoldUpTheEnd();
    HoldUpTheEnd(const HoldUpTheEnd&) = delete;
};

}  // namespace strata::python
