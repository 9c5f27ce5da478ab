// Asynchronous copies: what they copied is in local memory once their thread has waited for their group.
#include "strata/codegen/interpret/async_copies_p.h"

namespace strata::codegen {

std::vector<AsyncCopiesUnderWay::Copy> AsyncCopiesUnderWay::wait(size_t thread, size_t groups) {
    std::vector<Copy> ended;
    std::deque<Group>& mine = groups_[thread];
    for (; mine.size() > groups + 1; mine.pop_front())
        for (Copy& copy : mine.front()) ended.push_back(std::move(copy));
    return ended;
}

}  // namespace strata::codegen
