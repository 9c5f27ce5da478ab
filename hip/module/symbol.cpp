#include "strata/hip/api/exports.h"
#include "strata/hip/memory/copy.h"
#include "strata/hip/module/registration.h"

namespace strata::hip::library {

Code part_of(const void* symbol, size_t bytes, size_t offset, char*& out) {
    DeviceRange range;
    const Code code = find_variable(symbol, range);
    if (code != hipSuccess) return code;
    if (offset > range.bytes || bytes > range.bytes - offset) return hipErrorInvalidValue;
    out = reinterpret_cast<char*>(range.address) + offset;
    return hipSuccess;
}

namespace {

/// Which way a copy goes that has a variable at one end.
enum Way { kToVariable = 1, kFromVariable };

/// Calls copy(address) for a part of a variable. hipMemcpyDefault says too little of it.
template <class Copy>
Code with_part(const void* symbol, const void* other, size_t bytes, size_t offset, Way way, int kind, Copy&& copy) {
    constexpr int kWithinDevice = 3;
    if (kind != way && kind != kWithinDevice && kind != kWithoutUnits) return hipErrorInvalidMemcpyDirection;
    char* part = nullptr;
    Code code = part_of(symbol, bytes, offset, part);
    if (code == hipSuccess) code = check_copy(part, other, bytes, kind);
    return code == hipSuccess ? copy(part) : code;
}

}  // namespace
}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipGetSymbolAddress(void** address, const void* symbol) {
    return entry("hipGetSymbolAddress", [&] {
        char* start = nullptr;
        if (!address || !symbol) return hipErrorInvalidValue;
        const Code code = part_of(symbol, 0, 0, start);
        return code == hipSuccess ? set(address, static_cast<void*>(start)) : code;
    });
}
int hipGetSymbolSize(size_t* bytes, const void* symbol) {
    return entry("hipGetSymbolSize", [&] {
        strata::hip::DeviceRange range;
        if (!bytes || !symbol) return hipErrorInvalidValue;
        const Code code = find_variable(symbol, range);
        return code == hipSuccess ? set(bytes, range.bytes) : code;
    });
}
int hipMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset, int kind) {
    return entry("hipMemcpyToSymbol", [&] {
        return with_part(symbol, from, bytes, offset, kToVariable, kind, [&](char* part) {
            return and_wait(nullptr, [=](Stream& own) { return copy(own, part, from, bytes); });
        });
    });
}
int hipMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes, size_t offset, int kind, void* stream) {
    return entry("hipMemcpyToSymbolAsync", [&] {
        return with_part(symbol, from, bytes, offset, kToVariable, kind, [&](char* part) {
            return on_stream(stream, NodeType::copy, [=](Stream& own) { return copy(own, part, from, bytes); });
        });
    });
}
int hipMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset, int kind) {
    return entry("hipMemcpyFromSymbol", [&] {
        return with_part(symbol, to, bytes, offset, kFromVariable, kind, [&](char* part) {
            return and_wait(nullptr, [=](Stream& own) { return copy(own, to, part, bytes); });
        });
    });
}
int hipMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes, size_t offset, int kind, void* stream) {
    return entry("hipMemcpyFromSymbolAsync", [&] {
        return with_part(symbol, to, bytes, offset, kFromVariable, kind, [&](char* part) {
            return on_stream(stream, NodeType::copy, [=](Stream& own) { return copy(own, to, part, bytes); });
        });
    });
}
