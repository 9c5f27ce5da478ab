#pragma once
#include <map>

#include "strata/bindings/hip/stream_p.h"

namespace strata::hip::library {

/// Work of a graph, and what it comes after.
struct Node {
    NodeType type = NodeType::empty;
    Work work;
    std::vector<Node*> after = {};
};

struct Graph {
    std::vector<std::unique_ptr<Node>> nodes;

    Node* add(NodeType type, Work work, std::vector<Node*> after);
    /// Each after what it depends on, else as they were added. Error: hipErrorInvalidValue for a circle.
    Code in_order(std::vector<const Node*>& out) const;
};

/// Streams that record into one graph, from the begin on one of them.
struct Capture {
    std::unique_ptr<Graph> graph = std::make_unique<Graph>();
    Stream* origin = nullptr;
    std::map<Stream*, std::vector<Node*>> tips = {};  ///< what the next node of a stream comes after
    bool open = true;
};

std::vector<Node*> tips_of(Stream& stream);
/// A stream that waits for what another one records goes on in its graph.
Code join_capture(Stream& stream, const std::shared_ptr<Capture>& capture, const std::vector<Node*>& tips);

}  // namespace strata::hip::library
