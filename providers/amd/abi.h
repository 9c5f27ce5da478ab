#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "strata/core/support/error.h"

/// Facts of the headers of AMD's HIP runtime. The provider that calls the library and the library of hip/ share them,
/// and nothing of ROCm is needed to build either.
namespace strata::providers::abi {

/// hipError_t.
enum Code : int {
#define AMD_ERROR(name, code, kind, lost, text) name = code,
#include "strata/providers/amd/errors.def"
#undef AMD_ERROR
};

struct CodeRow {
    Code code;
    std::string_view name;
    ErrorKind kind;
    bool lost;  ///< nothing on the device works any more
    std::string_view text;
};
/// The row of a code; hipErrorUnknown's for one that has none.
const CodeRow& row_of(int code);

/// The markers in the array `extra` of hipModuleLaunchKernel: before the bytes of arguments, before the address of
/// their number, and at the end.
inline constexpr uintptr_t kBufferPointer = 1, kBufferSize = 2, kEnd = 3;

/// hipKernelNodeParams.
struct KernelNode {
    std::array<uint32_t, 3> block;
    void** extra;
    void* function;  ///< a hipFunction_t
    std::array<uint32_t, 3> grid;
    void** parameters;
    uint32_t lds;
};

/// Which layout of hipDeviceProp_t.
enum class Layout { hip5, r0600 };
inline constexpr size_t kPropertiesBytes5 = 792, kPropertiesBytesR0600 = 1472;

using Text256 = std::array<char, 256>;
using Int2 = std::array<int, 2>;
using Int3 = std::array<int, 3>;
using Bytes16 = std::array<char, 16>;

/// The fields of properties.def.
struct Properties {
#define PROPERTY(field, type, offset5, offset6) type field = {};
#define PROPERTY_6(field, type, offset6) type field = {};
#include "strata/providers/amd/properties.def"
#undef PROPERTY
#undef PROPERTY_6
};
Properties read_properties(Layout layout, std::span<const std::byte> bytes);
/// Writes the fields that there are and zeroes elsewhere.
void write_properties(const Properties& properties, Layout layout, std::span<std::byte> bytes);

inline std::string_view text_of(const Text256& text) {
    const std::string_view all(text.data(), text.size());
    return all.substr(0, all.find('\0'));
}
Text256 text256(std::string_view text);

}  // namespace strata::providers::abi
