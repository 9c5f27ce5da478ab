#include "strata/core/uop/node_set_p.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <unordered_set>

namespace strata {
namespace {

/// Nodes of few hashes, and of hashes that lie at the end of the table, so that runs meet and wrap around.
class Nodes {
  public:
    const Node* add(uint64_t hash) {
        Node& node = nodes_.emplace_back();
        node.hash = hash << 8;
        node.source_count = static_cast<uint32_t>(nodes_.size());
        return &node;
    }

  private:
    std::deque<Node> nodes_;
};

const Node* find(const NodeSet& set, const Node* node) {
    return set.find(node->hash, [&](const Node* other) { return other == node; });
}

TEST(NodeSet, HoldsWhatWasInsertedAndNotErasedWhateverCollides) {
    std::mt19937 random(7);
    Nodes nodes;
    NodeSet set;
    std::vector<const Node*> all;
    std::unordered_set<const Node*> held;
    for (int step = 0; step < 20000; ++step) {
        if (all.empty() || random() % 5 < 3) {
            all.push_back(nodes.add(random() % 2 ? random() % 16 : 4090 + random() % 12));
            set.insert(all.back());
            held.insert(all.back());
        } else if (const Node* node = all[random() % all.size()]; held.erase(node)) {
            set.erase(node);
        }
        if (held.size() > 300) {
            const auto is_dead = [&](const Node* node) {
                return node->source_count % 4 != static_cast<uint32_t>(step) % 4;
            };
            std::erase_if(held, [&](const Node* node) {
                if (is_dead(node)) set.erase(node);
                return is_dead(node);
            });
        }
        ASSERT_EQ(set.size(), held.size());
    }
    for (const Node* node : all) EXPECT_EQ(find(set, node), held.contains(node) ? node : nullptr);
}

TEST(NodeSet, OfNothingFindsNothing) {
    EXPECT_EQ(NodeSet().find(1, [](const Node*) { return true; }), nullptr);
}

}  // namespace
}  // namespace strata
