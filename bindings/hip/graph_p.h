#pragma once
#include <map>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <variant>

#include "strata/bindings/hip/copy_p.h"
#include "strata/bindings/hip/graph_memory_p.h"
#include "strata/bindings/hip/launch_p.h"
#include "strata/bindings/hip/structs_p.h"
#include "strata/bindings/hip/user_object_p.h"
#include "strata/core/support/mutex.h"

namespace strata::hip::library {

struct Graph;

struct EventParameters {
    void* event;
    bool waits;
};
struct Allocation {
    SharedGraphMemory memory;
};
struct Freeing {
    SharedGraphMemory memory;
};
using Child = std::shared_ptr<Graph>;  ///< what the graph held when it was added

/// What a node does, as a program may ask for it and change it.
using Details = std::variant<std::monostate, Launch, Box, FillParameters, HostParameters, EventParameters, Child,
                             Allocation, Freeing>;

/// Work of a graph, and what it comes after.
struct Node {
    NodeType type = NodeType::empty;
    Work work = {};
    std::vector<Node*> after = {};
    Details details = {};
    const Node* origin = nullptr;  ///< which node of another graph this one was made of
    bool enabled = true;
    std::map<int, KernelAttribute> attributes = {};
    std::vector<void*> pointers = {};  ///< to the arguments of a launch, as the program was told them

    /// From now on it does what these say.
    void become(Details wanted);
};

/// Which nodes a graph has, for every thread: who looks for a node asks all graphs for it, also those that others change.
class NodeHandles {
  public:
    void insert(const void* node) {
        std::lock_guard lock(mutex_);
        all_.insert(node);
    }
    void erase(const void* node) {
        std::lock_guard lock(mutex_);
        all_.erase(node);
    }
    bool contains(const void* node) const {
        std::lock_guard lock(mutex_);
        return all_.contains(node);
    }

  private:
    mutable Mutex mutex_;
    std::unordered_set<const void*> all_;
};

struct Graph {
    std::vector<std::unique_ptr<Node>> nodes;
    NodeHandles handles;    ///< of those
    bool recorded = false;  ///< streams record into it
    HeldObjects objects;
    std::weak_ptr<void> ready = {};  ///< the graph that was made ready of it last

    Graph() = default;
    Graph(const Graph& other);  ///< each node has the other's as origin
    Node* add(Node node);
    void remove(const Node* node);
    bool has(const void* node) const { return handles.contains(node); }
    /// Each after what it depends on, else as they were added. Error: hipErrorInvalidValue for a circle.
    Code in_order(std::vector<const Node*>& out) const;
};

/// Streams that record into one graph, from the begin on one of them.
struct Capture {
    std::shared_ptr<Graph> graph;
    Stream* origin = nullptr;
    std::map<Stream*, std::vector<Node*>> tips = {};       ///< what the next node of a stream comes after
    std::vector<const Node*> recorded = {}, dropped = {};  ///< by streams; what a program took from the tips
    int mode = 0;
    std::thread::id thread = std::this_thread::get_id();  ///< that began it
    std::atomic<bool> open = true, valid = true;
};

std::vector<Node*> tips_of(Stream& stream);
/// A stream that waits for what another one records goes on in its graph.
Code join_capture(Stream& stream, const std::shared_ptr<Capture>& capture, const std::vector<Node*>& tips);
/// Keeps what may be changed later.
Code record(Stream& stream, NodeType type, Details details);

}  // namespace strata::hip::library
