#include <compare>
#include <mutex>
#include <set>

#include "strata/core/support/mutex.h"
#include "strata/hip/api/exports.h"
#include "strata/hip/memory/blocks.h"
#include "strata/hip/memory/copy.h"

namespace strata::hip::library {
namespace {

// hipDeviceP2PAttr; of AMD's links, PCIe's number, which is over the host's bridge.
enum Attribute { performance_rank, access_supported, native_atomics, array_access };
constexpr uint32_t kPcie = 2, kHops = 2;

/// Devices reach each other's memory where they are of one arch.
struct Pair {
    int device = 0, peer = 0;  ///< as the emulator counts
    bool may() const { return device != peer && query(device).arch == query(peer).arch; }
    auto operator<=>(const Pair&) const = default;
};
struct Peers {
    Mutex mutex;
    std::set<Pair> enabled;
};
Peers& peers() {
    static auto* all = new Peers;
    return *all;
}

Code pair_of(int device, int peer, Pair& out) {
    const auto own = device_at(device), other = device_at(peer);
    if (!own || !other) return hipErrorInvalidDevice;
    out = {*own, *other};
    return hipSuccess;
}

void show(int device, const Block& block) {
    (void)emulator().map_host(device, reinterpret_cast<void*>(block.start), block.bytes, true);
}
void hide(int device, const Block& block) { (void)emulator().unmap_host(device, reinterpret_cast<void*>(block.start)); }

Code enable(int number, unsigned flags) {
    if (flags) return hipErrorInvalidValue;
    Pair pair;
    if (const Code code = pair_of(current_number(), number, pair); code != hipSuccess) return code;
    if (!pair.may()) return hipErrorInvalidDevice;
    std::lock_guard lock(peers().mutex);
    if (!peers().enabled.insert(pair).second) return hipErrorPeerAccessAlreadyEnabled;
    for (const Block& block : blocks_of(pair.peer))
        if (block.kind == MemoryKind::device) show(pair.device, block);
    return hipSuccess;
}

Code disable(int number) {
    Pair pair;
    if (const Code code = pair_of(current_number(), number, pair); code != hipSuccess) return code;
    if (!pair.may()) return hipErrorInvalidDevice;
    std::lock_guard lock(peers().mutex);
    if (!peers().enabled.erase(pair)) return hipErrorPeerAccessNotEnabled;
    for (const Block& block : blocks_of(pair.peer))
        if (block.kind == MemoryKind::device) hide(pair.device, block);
    return hipSuccess;
}

Code attribute_of(int attribute, const Pair& pair, int* out) {
    switch (attribute) {
        case performance_rank: return set(out, 0);
        case access_supported:
        case native_atomics: return set(out, pair.may());
        case array_access: return set(out, 0);
        default: return hipErrorInvalidValue;
    }
}

Code check_copy_of_peers(void* to, int to_device, const void* from, int from_device, size_t bytes) {
    Pair pair;
    const Code code = pair_of(to_device, from_device, pair);
    return code == hipSuccess ? check_copy(to, from, bytes, kDefaultKind) : code;
}

/// Calls act(device) for each other device that uses a block.
template <class Act>
void for_users(const Block& block, Act&& act) {
    for (const int device : devices()) {
        if (device == block.device) continue;
        if (block.kind != MemoryKind::device || peers().enabled.contains({device, block.device})) act(device);
    }
}

}  // namespace

void show_to_peers(const Block& block) {
    if (devices().size() < 2) return;
    std::lock_guard lock(peers().mutex);
    for_users(block, [&](int device) { show(device, block); });
}
void hide_from_peers(const Block& block) {
    if (devices().size() < 2) return;
    std::lock_guard lock(peers().mutex);
    for_users(block, [&](int device) { hide(device, block); });
}
void forget_peers_of(int device) {
    std::lock_guard lock(peers().mutex);
    std::erase_if(peers().enabled, [&](const Pair& pair) { return pair.device == device; });
}

}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipDeviceCanAccessPeer(int* can, int device, int peer) {
    return entry("hipDeviceCanAccessPeer", [&] {
        Pair pair;
        if (!can) return hipErrorInvalidValue;
        const Code code = pair_of(device, peer, pair);
        return code == hipSuccess ? set(can, pair.may()) : code;
    });
}
int hipDeviceEnablePeerAccess(int peer, unsigned flags) {
    return entry("hipDeviceEnablePeerAccess", [&] { return enable(peer, flags); });
}
int hipDeviceDisablePeerAccess(int peer) {
    return entry("hipDeviceDisablePeerAccess", [&] { return disable(peer); });
}
int hipDeviceGetP2PAttribute(int* value, int attribute, int from, int to) {
    return entry("hipDeviceGetP2PAttribute", [&] {
        if (!value) return hipErrorInvalidValue;
        if (from == to) return hipErrorInvalidDevice;
        Pair pair;
        const Code code = pair_of(from, to, pair);
        return code == hipSuccess ? attribute_of(attribute, pair, value) : code;
    });
}
int hipExtGetLinkTypeAndHopCount(int device, int peer, uint32_t* type, uint32_t* hops) {
    return entry("hipExtGetLinkTypeAndHopCount", [&] {
        if (!type || !hops || device == peer || device < 0 || peer < 0) return hipErrorInvalidValue;
        Pair pair;
        if (const Code code = pair_of(device, peer, pair); code != hipSuccess) return code;
        *type = kPcie;
        *hops = kHops;
        return hipSuccess;
    });
}
int hipMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes) {
    return entry("hipMemcpyPeer", [&] {
        const Code code = check_copy_of_peers(to, to_device, from, from_device, bytes);
        if (code != hipSuccess) return code;
        return and_wait(nullptr, [=](Stream& own) { return copy(own, to, from, bytes); });
    });
}
int hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes, void* stream) {
    return entry("hipMemcpyPeerAsync", [&] {
        const Code code = check_copy_of_peers(to, to_device, from, from_device, bytes);
        if (code != hipSuccess) return code;
        return on_stream(stream, NodeType::copy, [=](Stream& own) { return copy(own, to, from, bytes); });
    });
}
