// Attributes of kernels of a graph. They change nothing of a kernel's results. The emulator has no cache that keeps
// lines by a window, and runs a graph's nodes one by one.
#include "strata/hip/api/exports.h"
#include "strata/hip/graph/graphs_p.h"

namespace strata::hip::library {
namespace {

/// hipKernelNodeAttrID.
enum Attribute { window = 1, cooperative, priority = 8 };
enum Property { normal, streaming, persisting };

/// A kernel's node; nullptr: it is none.
Node* kernel_at(const void* handle) {
    Node* const node = node_of(handle);
    return node && node->type == NodeType::kernel ? node : nullptr;
}

/// A window of no bytes: hipDeviceAttributeAccessPolicyMaxWindowSize is 0.
Code check(const AccessWindow& own) {
    const bool known = own.hit >= normal && own.hit <= persisting && own.miss >= normal && own.miss < persisting;
    return known && own.bytes == 0 && own.ratio >= 0 && own.ratio <= 1 ? hipSuccess : hipErrorInvalidValue;
}

Code set_attribute(const void* handle, int attribute, const void* value) {
    Node* const node = kernel_at(handle);
    if (!node || !value) return hipErrorInvalidValue;
    KernelAttribute wanted{};
    const auto& given = *static_cast<const KernelAttribute*>(value);
    Code code = hipSuccess;
    switch (attribute) {
        case window:
            wanted.window = given.window;
            code = check(given.window);
            break;
        case cooperative:
            wanted.cooperative = given.cooperative;
            if (const auto* own = node->details.get_if<Launch>(); own && given.cooperative)
                code = check_cooperative(*own->function, own->grid, own->block, own->lds);
            break;
        case priority: wanted.priority = given.priority; break;
        default: return hipErrorInvalidValue;
    }
    if (code == hipSuccess) node->attributes[attribute] = wanted;
    return code;
}

/// Zeroes where none was set.
Code get_attribute(const void* handle, int attribute, void* value) {
    const Node* const node = kernel_at(handle);
    if (!node || !value) return hipErrorInvalidValue;
    const auto found = node->attributes.find(attribute);
    const KernelAttribute own = found == node->attributes.end() ? KernelAttribute{} : found->second;
    auto& out = *static_cast<KernelAttribute*>(value);
    switch (attribute) {
        case window: out.window = own.window; return hipSuccess;
        case cooperative: out.cooperative = own.cooperative; return hipSuccess;
        case priority: out.priority = own.priority; return hipSuccess;
        default: return hipErrorInvalidValue;
    }
}

Code copy_attributes(const void* from, const void* to) {
    const Node* const source = kernel_at(from);
    Node* const target = kernel_at(to);
    if (!source || !target) return hipErrorInvalidValue;
    target->attributes = source->attributes;
    return hipSuccess;
}

}  // namespace
}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipGraphKernelNodeSetAttribute(void* node, int attribute, const void* value) {
    return entry("hipGraphKernelNodeSetAttribute", [&] { return set_attribute(node, attribute, value); });
}
int hipGraphKernelNodeGetAttribute(void* node, int attribute, void* value) {
    return entry("hipGraphKernelNodeGetAttribute", [&] { return get_attribute(node, attribute, value); });
}
int hipGraphKernelNodeCopyAttributes(void* from, void* to) {
    return entry("hipGraphKernelNodeCopyAttributes", [&] { return copy_attributes(from, to); });
}
