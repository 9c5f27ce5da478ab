#include "strata/runtime/memory_p.h"

#include <atomic>

#include "strata/runtime/realize.h"

namespace strata::runtime {
namespace {

constexpr size_t kFewNodes = 1 << 14;  // a sweep over so many takes well under a millisecond
constexpr size_t kManyBytes = size_t{64} << 20;

std::atomic<size_t> allocated_since{0};
std::atomic<size_t> nodes_after_sweep{0};

void on_free(UOp node) {
    if (node.is(Op::buffer)) forget_buffer(node);
    if (node.is(Op::custom)) forget_custom(node);
    forget_result(node);
}

}  // namespace

void note_allocation(size_t bytes) { allocated_since += bytes; }

void release_unreached() {
    while (sweep(on_free) > 0) {  // a freed result lets go of its buffer, which the next round frees
    }
    allocated_since = 0;
    nodes_after_sweep = live_nodes();
}

void collect() {
    if (allocated_since > kManyBytes || live_nodes() > 2 * nodes_after_sweep || live_nodes() < kFewNodes)
        release_unreached();
}

}  // namespace strata::runtime
