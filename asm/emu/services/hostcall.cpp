#include "strata/asm/emu/services/hostcall.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

namespace strata::emu {
namespace {

// The layout that the device libraries read: hostcall_impl.cl, and amd_signal_t of HSA for the doorbell.
struct Buffer {
    uint64_t headers, payloads, doorbell, free_stack, ready_stack, index_mask;
};
struct Signal {
    uint64_t kind, value, mailbox, rest[5];  ///< without a mailbox nobody is interrupted
};
struct Header {
    uint64_t next, lanes;
    uint32_t service, control;
};
struct Payload {
    HostcallBuffer::Slot slots[64];
};
constexpr uint64_t kSignal = 64, kHeaders = 128;
static_assert(sizeof(Buffer) <= kSignal && sizeof(Signal) <= kHeaders - kSignal && sizeof(Header) == 24 &&
              sizeof(Payload) == 4096);

uint64_t payloads_of(uint64_t packets) { return (kHeaders + packets * sizeof(Header) + 63) / 64 * 64; }

template <class T>
T* at(uint64_t address) {
    return reinterpret_cast<T*>(address);
}

}  // namespace

HostcallBuffer::~HostcallBuffer() { release(); }

void HostcallBuffer::release() {
    if (!base_) return;
    memory_.release(base_);
    base_ = packets_ = 0;
}

Result<void> HostcallBuffer::reset(uint64_t waves) {
    const uint64_t wanted = std::bit_ceil(std::max<uint64_t>(waves, 2));
    if (wanted > packets_) {
        release();
        bytes_ = payloads_of(wanted) + wanted * sizeof(Payload);
        STRATA_TRY(base_, memory_.reserve(bytes_));
        packets_ = wanted;
        memory_.add({.low = base_, .high = base_ + bytes_, .label = "hostcall buffer", .of_host = true});
    }
    Header* headers = at<Header>(base_ + kHeaders);
    // A pointer is an index and, above it, a tag; the last packet's tag keeps its pointer from being 0.
    for (uint64_t i = 0; i < packets_; ++i) headers[i] = {i == 1 ? packets_ : i == 0 ? 0 : i - 1, 0, 0, 0};
    *at<Signal>(base_ + kSignal) = {1, 1, 0, {}};
    *at<Buffer>(base_) = {base_ + kHeaders, base_ + payloads_of(packets_), base_ + kSignal, packets_ - 1, 0,
                          packets_ - 1};
    return {};
}

bool HostcallBuffer::called() const { return at<Buffer>(base_)->ready_stack != 0; }

std::vector<HostcallBuffer::Packet> HostcallBuffer::take() {
    std::vector<Packet> taken;
    Header* headers = at<Header>(base_ + kHeaders);
    Payload* payloads = at<Payload>(base_ + payloads_of(packets_));
    // The kernel may have broken what it can write: indices are masked, a cycle ends, and no address is read.
    uint64_t next = std::exchange(at<Buffer>(base_)->ready_stack, 0);
    for (; next && taken.size() < packets_; next = headers[next & (packets_ - 1)].next) {
        const uint64_t index = next & (packets_ - 1);
        taken.push_back({headers[index].lanes, headers[index].service, payloads[index].slots, &headers[index].control});
    }
    return taken;
}

namespace {

// The descriptor in a packet's first word: flags, number of words that follow, id of the message.
constexpr uint64_t kBegin = 1, kEnd = 2;
constexpr int kLengthAt = 5, kIdAt = 8;
constexpr uint64_t kMostHeld = 1u << 23;  // words of messages that were begun and not ended

}  // namespace

Result<bool> Messages::enter(HostcallBuffer::Slot& slot, std::vector<uint64_t>& words) {
    const uint64_t descriptor = slot[0];
    const uint64_t id = descriptor & kBegin ? next_++ : descriptor >> kIdAt;
    if (descriptor & kBegin) open_.try_emplace(id);
    const auto message = open_.find(id);
    if (message == open_.end())
        return make_error(ErrorKind::Launch, "the kernel goes on with a message to the host that it did not begin");
    const auto sent = std::span(slot).subspan(1, descriptor >> kLengthAt & 7);
    message->second.insert(message->second.end(), sent.begin(), sent.end());
    held_ += sent.size();
    if (held_ + open_.size() > kMostHeld)
        return make_error(ErrorKind::Launch, "the kernel begins messages to the host and does not end them");
    slot[0] = (descriptor & ((1u << kIdAt) - 1) & ~kBegin) | id << kIdAt;
    if (!(descriptor & kEnd)) return false;
    words = std::move(message->second);
    held_ -= words.size();
    open_.erase(message);
    return true;
}

void Messages::clear() {
    open_.clear();
    next_ = held_ = 0;
}

}  // namespace strata::emu
