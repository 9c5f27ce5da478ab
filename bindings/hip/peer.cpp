#include "strata/bindings/hip/copy_p.h"
#include "strata/bindings/hip/exports_p.h"

namespace strata::hip::library {
namespace {

// Emulated devices have memories of their own, which no other one reaches but by copies.
Code check_pair(int device, int peer) {
    return device_at(device) && device_at(peer) ? hipSuccess : hipErrorInvalidDevice;
}

Code change_access(int peer, unsigned flags) {
    if (flags) return hipErrorInvalidValue;
    if (!device_at(peer) || peer == current_number()) return hipErrorInvalidDevice;
    return hipErrorPeerAccessUnsupported;
}

Code check_copy_of_peers(void* to, int to_device, const void* from, int from_device, size_t bytes) {
    const Code code = check_pair(to_device, from_device);
    return code == hipSuccess ? check_copy(to, from, bytes, kDefaultKind) : code;
}

}  // namespace
}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipDeviceCanAccessPeer(int* can, int device, int peer) {
    return entry("hipDeviceCanAccessPeer", [&] {
        const Code code = check_pair(device, peer);
        return code == hipSuccess ? set(can, 0) : code;
    });
}
int hipDeviceEnablePeerAccess(int peer, unsigned flags) {
    return entry("hipDeviceEnablePeerAccess", [&] { return change_access(peer, flags); });
}
int hipDeviceDisablePeerAccess(int peer) {
    return entry("hipDeviceDisablePeerAccess",
                 [&] { return device_at(peer) ? hipErrorPeerAccessNotEnabled : hipErrorInvalidDevice; });
}
int hipDeviceGetP2PAttribute(int* value, int attribute, int from, int to) {
    return entry("hipDeviceGetP2PAttribute", [&] {
        if (attribute < 0 || attribute > 3 || from == to) return hipErrorInvalidValue;
        const Code code = check_pair(from, to);
        return code == hipSuccess ? set(value, 0) : code;
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
