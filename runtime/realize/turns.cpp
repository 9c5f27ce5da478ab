// turns: which thread runs a user's kernel that several wait for.
#include "strata/runtime/realize/turns_p.h"

#include <set>

#include "strata/runtime/context_p.h"

namespace strata::runtime {

Turns::Turns(std::span<const UOp> calls) {
    std::set<uint64_t> ids;
    for (UOp call : calls) ids.insert(call.as<CustomArg>().id);
    for (uint64_t id : ids) {
        mutexes_.push_back(context().custom.turn(id));
        locks_.push_back(std::make_unique<StoppableLock>(*mutexes_.back()));
    }
}

}  // namespace strata::runtime
