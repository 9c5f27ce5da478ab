// Streams that record what they would do.
#include <algorithm>
#include <atomic>
#include <mutex>

#include "strata/core/support/mutex.h"
#include "strata/hip/api/exports.h"
#include "strata/hip/stream/recording.h"

namespace strata::hip::library {
namespace {

enum Status { none, active, invalidated };
/// hipStreamCaptureMode: what calls that cannot be recorded are refused to: all threads, the one that began, none.
enum Mode { global, of_thread, relaxed };
thread_local int mode_of_thread = global;

/// Captures that are open and refuse calls, and their number, which is read without the lock.
std::vector<std::shared_ptr<Capture>>& guarded() {
    static auto* all = new std::vector<std::shared_ptr<Capture>>;
    return *all;
}
std::atomic<size_t>& number_guarded() {
    static std::atomic<size_t> number{0};
    return number;
}

Mutex& capture_mutex() {
    static auto* mutex = new Mutex;
    return *mutex;
}

/// hipStreamUpdateCaptureDependenciesFlags.
enum Change { add, replace };

/// From now on a stream records that, or nothing.
void enter(Stream& stream, std::shared_ptr<Capture> capture) {
    stream.records = capture != nullptr;
    stream.capture = std::move(capture);
}

/// `graph`: what is recorded into, after the nodes of `after`.
Code begin(void* handle, int mode, const std::shared_ptr<Graph>& graph, std::vector<Node*> after = {}) {
    const std::shared_ptr<Stream> stream = stream_of(handle);
    if (!stream) return hipErrorContextIsDestroyed;
    if (mode < 0 || mode > relaxed) return hipErrorInvalidValue;
    if (stream->legacy) return hipErrorStreamCaptureUnsupported;
    std::lock_guard lock(capture_mutex());
    if (stream->capture) return hipErrorIllegalState;
    if (graph->recorded) return hipErrorIllegalState;
    const auto capture = std::make_shared<Capture>();
    capture->graph = graph;
    capture->origin = stream.get();
    capture->mode = mode;
    capture->tips[stream.get()] = std::move(after);
    graph->recorded = true;
    if (mode != relaxed) guarded().push_back(capture);
    number_guarded() = guarded().size();
    enter(*stream, capture);
    return hipSuccess;
}

Code begin_in(void* handle, void* graph_handle, void* const* nodes, const void* edges, size_t count, int mode) {
    if (edges) return hipErrorNotSupported;  // kinds of edges, which kernels here do not have
    const std::shared_ptr<Graph> graph = kept(graph_handle);
    if (!graph || !nodes != !count) return hipErrorInvalidValue;
    std::vector<Node*> after;
    const Code code = nodes_of(*graph, nodes, count, after);
    return code == hipSuccess ? begin(handle, mode, graph, std::move(after)) : code;
}

/// True if all that other streams recorded is what this one waits for.
bool joined(const Capture& capture, Stream* stream) {
    std::vector<const Node*> reached;
    std::unordered_set<const Node*> known;
    const auto reach = [&](const Node* node) {
        if (known.insert(node).second) reached.push_back(node);
    };
    std::ranges::for_each(capture.tips.at(stream), reach);
    std::ranges::for_each(capture.dropped, reach);
    for (size_t i = 0; i < reached.size(); ++i) std::ranges::for_each(reached[i]->after, reach);
    return std::ranges::all_of(capture.recorded, [&](const Node* node) { return known.contains(node); });
}

void close(Capture& capture) {
    for (const auto& [member, tips] : capture.tips) enter(*member, nullptr);
    capture.open = capture.graph->recorded = false;
    std::erase_if(guarded(), [&](const auto& one) { return one.get() == &capture; });
    number_guarded() = guarded().size();
}

Code end(void* handle, void** graph) {
    const std::shared_ptr<Stream> stream = stream_of(handle);
    if (!stream) return hipErrorContextIsDestroyed;
    if (!graph) return hipErrorInvalidValue;
    *graph = nullptr;
    std::lock_guard lock(capture_mutex());
    const std::shared_ptr<Capture> capture = stream->capture;
    if (!capture) return hipErrorIllegalState;
    if (capture->origin != stream.get()) return hipErrorStreamCaptureUnmatched;
    if (capture->mode != relaxed && capture->thread != std::this_thread::get_id())
        return hipErrorStreamCaptureWrongThread;
    const bool complete = joined(*capture, stream.get());
    close(*capture);
    if (!capture->valid) return hipErrorStreamCaptureInvalidated;
    if (!complete) return hipErrorStreamCaptureUnjoined;
    *graph = keep(capture->graph);
    return hipSuccess;
}

/// True if a stream that records, and lets no other call pass, is ordered before and after what the legacy stream does.
bool orders_with_capture(const Stream& legacy) {
    return std::ranges::any_of(guarded(), [&](const auto& one) {
        return one->origin->device == legacy.device && !(one->origin->flags & kNonBlocking);
    });
}

/// A program's query about a stream that records.
struct Query {
    unsigned long long* id = nullptr;
    void** graph = nullptr;
    void* const** nodes = nullptr;  ///< which the next one comes after, until the stream records it
    size_t* count = nullptr;
};

Code info(void* handle, int* status, const Query& query) {
    const std::shared_ptr<Stream> stream = stream_of(handle);
    if (!stream) return hipErrorContextIsDestroyed;
    if (!status) return hipErrorInvalidValue;
    std::lock_guard lock(capture_mutex());
    if (stream->legacy && orders_with_capture(*stream)) return hipErrorStreamCaptureImplicit;
    const std::shared_ptr<Capture>& capture = stream->capture;
    *status = !capture ? none : capture->valid ? active : invalidated;
    if (!capture) return hipSuccess;
    if (query.id) *query.id = address(capture.get());
    if (query.graph) *query.graph = capture->graph.get();
    if (query.graph || query.nodes) tell_of(capture->graph);
    const std::vector<Node*>& tips = capture->tips[stream.get()];
    if (query.nodes) *query.nodes = reinterpret_cast<void* const*>(tips.data());
    if (query.count) *query.count = tips.size();
    return hipSuccess;
}

/// Takes other nodes for what the next one comes after, or besides.
Code change_tips(void* handle, void* const* nodes, size_t count, unsigned how) {
    const std::shared_ptr<Stream> stream = stream_of(handle);
    if (!stream) return hipErrorContextIsDestroyed;
    std::lock_guard lock(capture_mutex());
    const std::shared_ptr<Capture>& capture = stream->capture;
    if (!capture) return hipErrorIllegalState;
    if (how > replace) return hipErrorInvalidValue;
    std::vector<Node*> wanted, &tips = capture->tips[stream.get()];
    if (const Code code = nodes_of(*capture->graph, nodes, count, wanted); code != hipSuccess) return code;
    if (how == replace) capture->dropped.insert(capture->dropped.end(), tips.begin(), tips.end());
    if (how == replace) tips.clear();
    for (Node* node : wanted)
        if (std::ranges::find(tips, node) == tips.end()) tips.push_back(node);
    return hipSuccess;
}

/// Adds a node after what the stream recorded last.
Code append(Stream& stream, Node node) {
    std::lock_guard lock(capture_mutex());
    if (!stream.capture) return hipErrorContextIsDestroyed;  // by another thread
    Capture& capture = *stream.capture;
    if (!capture.valid) return hipErrorStreamCaptureInvalidated;
    std::vector<Node*>& tips = capture.tips[&stream];
    node.after = tips;
    tips = {capture.graph->add(std::move(node))};
    capture.recorded.push_back(tips.front());
    return hipSuccess;
}

}  // namespace

std::shared_ptr<Capture> capture_of(const Stream& stream) {
    if (!stream.records) return nullptr;
    std::lock_guard lock(capture_mutex());
    return stream.capture;
}

std::vector<Node*> tips_of(Stream& stream) {
    std::lock_guard lock(capture_mutex());
    return stream.capture ? stream.capture->tips[&stream] : std::vector<Node*>{};
}

void leave_capture(Stream& stream) {
    std::lock_guard lock(capture_mutex());
    const std::shared_ptr<Capture> capture = stream.capture;
    if (!capture) return;
    if (capture->origin == &stream) return close(*capture);
    capture->tips.erase(&stream);
    enter(stream, nullptr);
}

void invalidate(Stream& stream) {
    std::lock_guard lock(capture_mutex());
    if (stream.capture) stream.capture->valid = false;
}

bool refused_by_capture() {
    if (number_guarded() == 0 || mode_of_thread == relaxed) return false;
    std::lock_guard lock(capture_mutex());
    bool refused = false;
    for (const auto& capture : guarded()) {
        const bool own = capture->thread == std::this_thread::get_id();
        if (!own && (capture->mode == of_thread || mode_of_thread == of_thread)) continue;
        capture->valid = false;
        refused = true;
    }
    return refused;
}

Code record(Stream& stream, NodeType type, Work work) {
    return append(stream, {.type = type, .work = std::move(work)});
}
Code record(Stream& stream, NodeType type, Details details) {
    Node node{.type = type};
    node.become(std::move(details));
    return append(stream, std::move(node));
}

Code join_capture(Stream& stream, const std::shared_ptr<Capture>& capture, const std::vector<Node*>& tips) {
    if (stream.legacy) return hipErrorStreamCaptureImplicit;
    std::lock_guard lock(capture_mutex());
    if (stream.capture && stream.capture != capture) return hipErrorStreamCaptureMerge;
    enter(stream, capture);
    std::vector<Node*>& own = capture->tips[&stream];
    for (Node* tip : tips)
        if (std::ranges::find(own, tip) == own.end()) own.push_back(tip);
    return hipSuccess;
}

}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipStreamBeginCapture(void* stream, int mode) {
    return entry("hipStreamBeginCapture", [&] { return begin(stream, mode, std::make_shared<Graph>()); });
}
int hipStreamBeginCaptureToGraph(void* stream, void* graph, void* const* nodes, const void* edges, size_t count,
                                 int mode) {
    return entry("hipStreamBeginCaptureToGraph", [&] { return begin_in(stream, graph, nodes, edges, count, mode); });
}
int hipStreamEndCapture(void* stream, void** graph) {
    return entry("hipStreamEndCapture", [&] { return end(stream, graph); });
}
int hipStreamIsCapturing(void* stream, int* status) {
    return entry("hipStreamIsCapturing", [&] { return info(stream, status, {}); });
}
int hipStreamGetCaptureInfo(void* stream, int* status, unsigned long long* id) {
    return entry("hipStreamGetCaptureInfo", [&] { return info(stream, status, {.id = id}); });
}
int hipStreamGetCaptureInfo_v2(void* stream, int* status, unsigned long long* id, void** graph, void* const** nodes,
                               size_t* count) {
    return entry("hipStreamGetCaptureInfo_v2", [&] { return info(stream, status, {id, graph, nodes, count}); });
}
int hipStreamUpdateCaptureDependencies(void* stream, void** nodes, size_t count, unsigned how) {
    return entry("hipStreamUpdateCaptureDependencies", [&] { return change_tips(stream, nodes, count, how); });
}
int hipThreadExchangeStreamCaptureMode(int* mode) {
    return entry("hipThreadExchangeStreamCaptureMode", [&] {
        if (!mode || *mode < global || *mode > relaxed) return hipErrorInvalidValue;
        std::swap(mode_of_thread, *mode);
        return hipSuccess;
    });
}
