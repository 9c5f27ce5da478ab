#pragma once
#include "strata/hip/stream/stream.h"

namespace strata::hip::library {

struct Node;

/// An event that other processes know: how often it was recorded, and how many of these are done.
struct SharedEvent {
    std::atomic<uint64_t> recorded{0}, done{0};
};
/// A file that holds one.
struct SharedEventFile {
    int file = -1;
    SharedEvent* event = nullptr;
    SharedEventFile(const SharedEventFile&) = delete;
    SharedEventFile(int file_, SharedEvent* event_) : file(file_), event(event_) {}
    ~SharedEventFile();
};

struct Event {
    int device = 0;
    unsigned flags = 0;
    std::optional<Time> at = {};                    ///< modelled
    std::weak_ptr<std::atomic<bool>> pending = {};  ///< set when the work before it is done
    std::shared_ptr<Capture> capture = nullptr;     ///< of the stream that it was recorded on last
    std::shared_ptr<SharedEventFile> shared = nullptr;
    uint64_t number = 0;           ///< of the record that is meant, where it is shared
    std::vector<Node*> tips = {};  ///< what waits for it depends on, in the graph of that
};
inline constexpr unsigned kNoTiming = 2, kInterprocess = 4;

bool is_event(void* handle);
void* add_event(Event event);
/// The file of an event, which it gets now if it has none, and its device. Errors: hipErrorInvalidValue,
/// hipErrorInvalidConfiguration for one that is not for other processes.
Code share_event(void* handle, std::shared_ptr<SharedEventFile>& out, int& device);
std::shared_ptr<SharedEventFile> map_event(int file);  ///< which it closes; nullptr: it is none
Code wait_for_event(Stream& stream, void* event);
/// The same for work that is being done: the host waits with it.
Code wait_with_host(Stream& stream, void* event);
/// Error: hipErrorInvalidHandle where there is no such event.
Code record_event(Stream& stream, void* event);

}  // namespace strata::hip::library
