#pragma once
#include "strata/bindings/hip/stream_p.h"

namespace strata::hip::library {

struct Node;

struct Event {
    int device = 0;
    unsigned flags = 0;
    std::optional<Time> at = {};                 ///< modelled
    std::shared_ptr<Capture> capture = nullptr;  ///< of the stream that it was recorded on last
    std::vector<Node*> tips = {};                ///< what waits for it depends on, in the graph of that
};
inline constexpr unsigned kNoTiming = 2;

Event* event_of(void* handle);  ///< nullptr: it is none
Code wait_for_event(Stream& stream, void* event);
Code record_event(Stream& stream, Event& event);

}  // namespace strata::hip::library
