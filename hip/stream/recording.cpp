#include "strata/hip/stream/recording.h"

#include <algorithm>
#include <mutex>

#include "strata/core/support/mutex.h"
#include "strata/hip/stream/event.h"

namespace strata::hip::library {
namespace {

struct KeptGraphs {
    Mutex mutex;
    std::map<void*, std::shared_ptr<Graph>> all;
    std::map<void*, std::weak_ptr<Graph>> children;  ///< that the program has handles of, and those that streams record
};
KeptGraphs& kept_graphs() {
    static auto* all = new KeptGraphs;
    return *all;
}

}  // namespace

Code perform(Stream&, const HostParameters& what) {
    what.function(what.data);
    return hipSuccess;
}
Code perform(Stream& stream, const EventParameters& what) {
    return what.waits ? wait_with_host(stream, what.event) : record_event(stream, what.event);
}
Code perform(Stream& stream, const Child& what) {
    std::vector<const Node*> order;
    if (const Code code = what->in_order(order); code != hipSuccess) return code;
    for (const Node* node : order)
        if (node->work)
            if (const Code code = node->work(stream); code != hipSuccess) return code;
    return hipSuccess;
}

Node copy_of(const Node& node) {
    Node out = node;
    out.origin = &node;
    out.pointers.clear();
    if (const auto* child = node.details.get_if<Child>()) out.become(std::make_shared<Graph>(**child));
    return out;
}

Graph::Graph(const Graph& other) : objects(other.objects) {
    std::map<const Node*, Node*> made;
    for (const auto& node : other.nodes) made[node.get()] = add(copy_of(*node));
    for (const auto& node : nodes)
        for (Node*& before : node->after) before = made.at(before);
}

Node* Graph::add(Node node) {
    Node* const out = nodes.emplace_back(std::make_unique<Node>(std::move(node))).get();
    handles.insert(out);
    return out;
}

void Graph::remove(const Node* node) {
    for (const auto& other : nodes) std::erase(other->after, node);
    handles.erase(node);
    std::erase_if(nodes, [&](const auto& own) { return own.get() == node; });
}

Code Graph::in_order(std::vector<const Node*>& out) const {
    std::unordered_set<const Node*> done;
    while (out.size() < nodes.size()) {
        const size_t before = out.size();
        for (const auto& node : nodes) {
            const bool ready = std::ranges::all_of(node->after, [&](const Node* one) { return done.contains(one); });
            if (!ready || !done.insert(node.get()).second) continue;
            out.push_back(node.get());
        }
        if (out.size() == before) return hipErrorInvalidValue;
    }
    return hipSuccess;
}

Graph* keep(std::shared_ptr<Graph> graph) {
    std::lock_guard lock(kept_graphs().mutex);
    Graph* const handle = graph.get();
    kept_graphs().all[handle] = std::move(graph);
    return handle;
}

bool forget(void* handle) {
    std::unique_lock lock(kept_graphs().mutex);
    const auto gone = kept_graphs().all.extract(handle);
    lock.unlock();  // objects of the program may end with the graph
    return !gone.empty();
}

void tell_of(const std::shared_ptr<Graph>& graph) {
    std::lock_guard lock(kept_graphs().mutex);
    kept_graphs().children[graph.get()] = graph;
}

std::shared_ptr<Graph> kept(void* handle) {
    std::lock_guard lock(kept_graphs().mutex);
    const auto found = kept_graphs().all.find(handle);
    return found == kept_graphs().all.end() ? nullptr : found->second;
}

Graph* graph_of(void* handle) {
    std::lock_guard lock(kept_graphs().mutex);
    if (const auto found = kept_graphs().all.find(handle); found != kept_graphs().all.end()) return found->second.get();
    const auto child = kept_graphs().children.find(handle);
    return child == kept_graphs().children.end() ? nullptr : child->second.lock().get();
}

Node* node_of(const void* handle, Graph** graph) {
    std::lock_guard lock(kept_graphs().mutex);
    const auto look_in = [&](Graph* own) {
        if (!own || !own->has(handle)) return false;
        if (graph) *graph = own;
        return true;
    };
    for (const auto& [key, own] : kept_graphs().all)
        if (look_in(own.get())) return static_cast<Node*>(const_cast<void*>(handle));
    for (const auto& [key, own] : kept_graphs().children)
        if (look_in(own.lock().get())) return static_cast<Node*>(const_cast<void*>(handle));
    return nullptr;
}

Code nodes_of(const Graph& graph, void* const* nodes, size_t count, std::vector<Node*>& out) {
    if (count && !nodes) return hipErrorInvalidValue;
    for (size_t i = 0; i < count; ++i) {
        if (!graph.has(nodes[i]) || std::ranges::find(out, nodes[i]) != out.end()) return hipErrorInvalidValue;
        out.push_back(static_cast<Node*>(nodes[i]));
    }
    return hipSuccess;
}

}  // namespace strata::hip::library
