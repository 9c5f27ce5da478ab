#pragma once
#include <map>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <utility>

#include "strata/core/support/mutex.h"
#include "strata/hip/api/structs.h"
#include "strata/hip/api/user_object.h"
#include "strata/hip/stream/stream.h"

namespace strata::hip::library {

struct Graph;

struct EventParameters {
    void* event;
    bool waits;
};
using Child = std::shared_ptr<Graph>;  ///< what the graph held when it was added

Code perform(Stream& stream, const HostParameters& what);
Code perform(Stream& stream, const EventParameters& what);
Code perform(Stream& stream, const Child& what);

/// The work of a node, as a program may query and change it. It is a value of a type T with a perform(Stream&, const
/// T&), or nothing.
class Details {
  public:
    Details() = default;
    template <class T>
        requires requires(Stream& stream, const T& what) { perform(stream, what); }
    Details(T what) : what_(std::make_shared<Of<T>>(std::move(what))) {}

    /// nullptr: it is of another type.
    template <class T>
    const T* get_if() const {
        const auto* const own = dynamic_cast<const Of<T>*>(what_.get());
        return own ? &own->what : nullptr;
    }
    Work work() const {
        if (!what_) return {};
        return [what = what_](Stream& stream) { return what->run(stream); };
    }

  private:
    struct Any {
        virtual ~Any() = default;
        virtual Code run(Stream& stream) const = 0;
    };
    template <class T>
    struct Of final : Any {
        explicit Of(T what_) : what(std::move(what_)) {}
        Code run(Stream& stream) const override { return perform(stream, what); }
        T what;
    };
    std::shared_ptr<const Any> what_;
};

/// Work of a graph, and what it comes after.
struct Node {
    NodeType type = NodeType::empty;
    Work work = {};
    std::vector<Node*> after = {};
    Details details = {};
    const Node* origin = nullptr;  ///< which node of another graph this one was made of
    bool enabled = true;
    std::map<int, KernelAttribute> attributes = {};
    std::vector<void*> pointers = {};  ///< to the arguments of a launch, as the program got them

    /// From now on it does what these say.
    void become(Details wanted) {
        work = wanted.work();
        details = std::move(wanted);
    }
};

/// Which nodes a graph has, for every thread: a search for a node asks all graphs, also those that other threads
/// change.
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
/// A node of its own, and so are those of its child.
Node copy_of(const Node& node);

/// Graphs that the program has handles of.
Graph* keep(std::shared_ptr<Graph> graph);
bool forget(void* handle);  ///< false: it is none
/// A graph that the program gets a handle of, though something else owns it: a child, or one that streams record into.
void tell_of(const std::shared_ptr<Graph>& graph);
std::shared_ptr<Graph> kept(void* handle);  ///< nullptr: it is none
Graph* graph_of(void* handle);              ///< nullptr: it is none
/// A node of any of them, and its graph; nullptr: it is none.
Node* node_of(const void* handle, Graph** graph = nullptr);
/// The nodes a call was given; hipErrorInvalidValue where one is not of the graph.
Code nodes_of(const Graph& graph, void* const* nodes, size_t count, std::vector<Node*>& out);
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
