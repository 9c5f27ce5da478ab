// Streams that record what they would do.
#include <algorithm>
#include <mutex>

#include "strata/bindings/hip/exports_p.h"
#include "strata/bindings/hip/graph_p.h"
#include "strata/bindings/hip/graphs_p.h"
#include "strata/core/support/mutex.h"

namespace strata::hip::library {
namespace {

enum Status { none, active };

Mutex& capture_mutex() {
    static auto* mutex = new Mutex;
    return *mutex;
}

Code begin(void* handle, int mode) {
    Stream* const stream = stream_of(handle);
    if (!stream) return hipErrorContextIsDestroyed;
    if (mode < 0 || mode > 2) return hipErrorInvalidValue;
    if (stream->legacy) return hipErrorStreamCaptureUnsupported;
    if (stream->capture) return hipErrorIllegalState;
    stream->capture = std::make_shared<Capture>();
    stream->capture->origin = stream;
    stream->capture->tips[stream] = {};
    return hipSuccess;
}

/// Whether all that other streams recorded is what this one waits for.
bool joined(const Capture& capture, const Stream* stream) {
    std::vector<const Node*> reached(capture.tips.at(const_cast<Stream*>(stream)).begin(),
                                     capture.tips.at(const_cast<Stream*>(stream)).end());
    for (size_t i = 0; i < reached.size(); ++i)
        for (const Node* before : reached[i]->after)
            if (std::ranges::find(reached, before) == reached.end()) reached.push_back(before);
    return reached.size() == capture.graph->nodes.size();
}

Code end(void* handle, void** graph) {
    Stream* const stream = stream_of(handle);
    if (!stream) return hipErrorContextIsDestroyed;
    if (!graph) return hipErrorInvalidValue;
    *graph = nullptr;
    const std::shared_ptr<Capture> capture = stream->capture;
    if (!capture) return hipErrorIllegalState;
    if (capture->origin != stream) return hipErrorStreamCaptureUnmatched;
    std::lock_guard lock(capture_mutex());
    const bool complete = joined(*capture, stream);
    for (const auto& [member, tips] : capture->tips) member->capture.reset();
    capture->open = false;
    if (!complete) return hipErrorStreamCaptureUnjoined;
    *graph = keep(std::move(capture->graph));
    return hipSuccess;
}

Code info(void* handle, int* status, unsigned long long* id) {
    Stream* const stream = stream_of(handle);
    if (!stream) return hipErrorContextIsDestroyed;
    if (!status) return hipErrorInvalidValue;
    *status = stream->capture ? active : none;
    if (id && stream->capture) *id = address(stream->capture.get());
    return hipSuccess;
}

}  // namespace

std::vector<Node*> tips_of(Stream& stream) { return stream.capture->tips[&stream]; }

Code record(Stream& stream, NodeType type, Work work) {
    std::lock_guard lock(capture_mutex());
    std::vector<Node*>& tips = stream.capture->tips[&stream];
    tips = {stream.capture->graph->add(type, std::move(work), tips)};
    return hipSuccess;
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
