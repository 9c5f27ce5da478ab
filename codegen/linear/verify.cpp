// verify_input: the rules of kernel.h, before anything is lowered; a user's mistake is told as one.
#include <algorithm>

#include "strata/codegen/linear/passes_p.h"
#include "strata/core/uop/verify.h"

namespace strata::codegen {
namespace {

/// Users write memory and order by hand; Strata's own kernels before this stage never do.
bool is_users(std::span<const UOp> nodes) {
    return std::any_of(nodes.begin(), nodes.end(), [](UOp u) {
        bool own_memory = u.is(Op::param) && u.as<ParamArg>().space != Space::global;
        bool named = u.is(Op::sink) && !u.as<SinkArg>().name.empty();
        return own_memory || named || u.is(Op::after) || u.is(Op::barrier) || u.is(Op::special) || u.is(Op::atomic_add);
    });
}

}  // namespace

Result<void> verify_input(const Kernel& kernel) {
    if (!kernel.sink || !kernel.sink.is(Op::sink))
        return make_error(ErrorKind::Usage, "kernel {}: {} is no sink", kernel.name, to_string(kernel.sink));
    std::vector<UOp> nodes = toposort(kernel.sink);
    bool users = is_users(nodes);
    Result<void> checked = verify_kernel(kernel.sink);
    if (!checked) {
        Error error = std::move(checked.error());
        if (users) error.kind = ErrorKind::Usage;
        error.message = fmt::format("kernel {}: {}", kernel.name, error.message);
        return error;
    }
    auto ranges = std::count_if(nodes.begin(), nodes.end(), [](UOp u) { return u.is(Op::range); });
    if (static_cast<size_t>(ranges) > kMaxRanges)
        return make_error(users ? ErrorKind::Usage : ErrorKind::Internal, "kernel {}: {} ranges; the most is {}",
                          kernel.name, ranges, kMaxRanges);
    return {};
}

}  // namespace strata::codegen
