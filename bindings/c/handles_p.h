#pragma once
#include <atomic>
#include <map>
#include <memory>

#include "strata/core/support/mutex.h"
#include "strata/core/support/settings.h"
#include "strata/plan/plan.h"
#include "strata/runtime/stream.h"

#include "strata/strata.h"

namespace strata::c {

/// A context, which plans and streams of it keep.
struct State {
    ~State();
    runtime::Device* device = nullptr;
    std::shared_ptr<const Settings> settings;
    std::shared_ptr<runtime::Stream> stream;  ///< that calls without a stream take
    std::string arch;
    void (*log)(void*, int, const char*) = nullptr;
    void* user = nullptr;

    Mutex mutex;
    std::map<uint64_t, uint64_t> memory;  ///< bytes by address
    std::atomic<uint64_t> launches{0}, compilations{0}, allocations{0}, live_bytes{0};
};

enum Level : int { error = 1, info = 3 };

}  // namespace strata::c

struct strata_context {
    std::shared_ptr<strata::c::State> state;
};
struct strata_stream {
    std::shared_ptr<strata::c::State> state;
    std::shared_ptr<strata::runtime::Stream> stream;
};
struct strata_plan {
    std::shared_ptr<strata::c::State> state;
    std::shared_ptr<const strata::plan::Plan> plan;
};
