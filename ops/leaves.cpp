#include <algorithm>
#include <mutex>

#include "strata/core/support/mutex.h"
#include "strata/ops/leaf_p.h"

namespace strata::ops {
namespace {

struct Leaves {
    Mutex mutex;
    std::vector<std::weak_ptr<Leaf>> all;
};
Leaves& leaves() {
    static Leaves all;
    return all;
}

}  // namespace

void add_leaf(const std::shared_ptr<Leaf>& leaf) {
    Leaves& known = leaves();
    std::lock_guard lock(known.mutex);
    std::erase_if(known.all, [](const std::weak_ptr<Leaf>& l) { return l.expired(); });
    known.all.push_back(leaf);
}

std::vector<std::shared_ptr<Leaf>> living_leaves() {
    Leaves& known = leaves();
    std::lock_guard lock(known.mutex);
    std::vector<std::shared_ptr<Leaf>> out;
    for (const std::weak_ptr<Leaf>& l : known.all)
        if (std::shared_ptr<Leaf> leaf = l.lock()) out.push_back(std::move(leaf));
    return out;
}

bool is_leaf(UOp value) {
    UOp source = source_of_gradient(value);
    return std::ranges::any_of(living_leaves(), [&](const auto& leaf) { return leaf->node.get() == source; });
}

}  // namespace strata::ops
