// Streams that record what they would do.
#include <algorithm>
#include <mutex>

#include "strata/bindings/hip/exports_p.h"
#include "strata/bindings/hip/graph_p.h"
#include "strata/bindings/hip/graphs_p.h"
#include "strata/core/support/mutex.h"

namespace strata::hip::library {
namespace {

enum Status { none, active, invalidated };
constexpr int relaxed = 2;  // hipStreamCaptureModeRelaxed; of the others, only the thread that began ends

Mutex& capture_mutex() {
    static auto* mutex = new Mutex;
    return *mutex;
}

Code begin(void* handle, int mode) {
    Stream* const stream = stream_of(handle);
    if (!stream) return hipErrorContextIsDestroyed;
    if (mode < 0 || mode > relaxed) return hipErrorInvalidValue;
    if (stream->legacy) return hipErrorStreamCaptureUnsupported;
    std::lock_guard lock(capture_mutex());
    if (stream->capture) return hipErrorIllegalState;
    stream->capture = std::make_shared<Capture>();
    stream->capture->origin = stream;
    if (mode != relaxed) stream->capture->thread = std::this_thread::get_id();
    stream->capture->tips[stream] = {};
    return hipSuccess;
}

/// Whether all that other streams recorded is what this one waits for.
bool joined(const Capture& capture, Stream* stream) {
    std::vector<const Node*> reached;
    std::unordered_set<const Node*> known;
    const auto reach = [&](const Node* node) {
        if (known.insert(node).second) reached.push_back(node);
    };
    std::ranges::for_each(capture.tips.at(stream), reach);
    for (size_t i = 0; i < reached.size(); ++i) std::ranges::for_each(reached[i]->after, reach);
    return reached.size() == capture.graph->nodes.size();
}

void close(Capture& capture) {
    for (const auto& [member, tips] : capture.tips) member->capture.reset();
    capture.open = false;
}

Code end(void* handle, void** graph) {
    Stream* const stream = stream_of(handle);
    if (!stream) return hipErrorContextIsDestroyed;
    if (!graph) return hipErrorInvalidValue;
    *graph = nullptr;
    std::lock_guard lock(capture_mutex());
    const std::shared_ptr<Capture> capture = stream->capture;
    if (!capture) return hipErrorIllegalState;
    if (capture->origin != stream) return hipErrorStreamCaptureUnmatched;
    if (capture->thread && capture->thread != std::this_thread::get_id()) return hipErrorStreamCaptureWrongThread;
    const bool complete = joined(*capture, stream);
    close(*capture);
    if (!capture->valid) return hipErrorStreamCaptureInvalidated;
    if (!complete) return hipErrorStreamCaptureUnjoined;
    *graph = keep(std::move(capture->graph));
    return hipSuccess;
}

Code info(void* handle, int* status, unsigned long long* id) {
    Stream* const stream = stream_of(handle);
    if (!stream) return hipErrorContextIsDestroyed;
    if (!status) return hipErrorInvalidValue;
    std::lock_guard lock(capture_mutex());
    const std::shared_ptr<Capture>& capture = stream->capture;
    *status = !capture ? none : capture->valid ? active : invalidated;
    if (id && capture) *id = address(capture.get());
    return hipSuccess;
}

/// Adds a node behind what the stream recorded last.
Code append(Stream& stream, Node node) {
    std::lock_guard lock(capture_mutex());
    if (!stream.capture->valid) return hipErrorStreamCaptureInvalidated;
    std::vector<Node*>& tips = stream.capture->tips[&stream];
    node.after = tips;
    tips = {stream.capture->graph->add(std::move(node))};
    return hipSuccess;
}

}  // namespace

std::vector<Node*> tips_of(Stream& stream) {
    std::lock_guard lock(capture_mutex());
    return stream.capture->tips[&stream];
}

void leave_capture(Stream& stream) {
    std::lock_guard lock(capture_mutex());
    const std::shared_ptr<Capture> capture = stream.capture;
    if (!capture) return;
    if (capture->origin == &stream) return close(*capture);
    capture->tips.erase(&stream);
    stream.capture.reset();
}

void invalidate(Stream& stream) {
    std::lock_guard lock(capture_mutex());
    if (stream.capture) stream.capture->valid = false;
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
    if (stream.capture && stream.capture != capture) return hipErrorStreamCaptureMerge;
    std::lock_guard lock(capture_mutex());
    stream.capture = capture;
    std::vector<Node*>& own = capture->tips[&stream];
    for (Node* tip : tips)
        if (std::ranges::find(own, tip) == own.end()) own.push_back(tip);
    return hipSuccess;
}

}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipStreamBeginCapture(void* stream, int mode) {
    return entry("hipStreamBeginCapture", [&] { return begin(stream, mode); });
}
int hipStreamEndCapture(void* stream, void** graph) {
    return entry("hipStreamEndCapture", [&] { return end(stream, graph); });
}
int hipStreamIsCapturing(void* stream, int* status) {
    return entry("hipStreamIsCapturing", [&] { return info(stream, status, nullptr); });
}
int hipStreamGetCaptureInfo(void* stream, int* status, unsigned long long* id) {
    return entry("hipStreamGetCaptureInfo", [&] { return info(stream, status, id); });
}
int hipThreadExchangeStreamCaptureMode(int* mode) {
    return entry("hipThreadExchangeStreamCaptureMode", [&] {
        thread_local int own = 0;
        if (!mode || *mode < 0 || *mode > 2) return hipErrorInvalidValue;
        std::swap(own, *mode);
        return hipSuccess;
    });
}
