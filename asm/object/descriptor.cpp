#include <cstring>

#include "strata/asm/object/code_object.h"

namespace strata::isa {
namespace {

// Byte offsets of the 64-byte kernel descriptor (LLVM AMDGPUUsage, "Kernel Descriptor"); the rest is reserved, zero.
enum Offset {
    kGroupSize = 0,
    kPrivateSize = 4,
    kKernargSize = 8,
    kEntryOffset = 16,
    kRsrc3 = 44,
    kRsrc1 = 48,
    kRsrc2 = 52,
    kProperties = 56,
    kKernargPreload = 58,
};

/// Calls visit(offset, field) for each field; one list serves both directions.
template <class Descriptor, class Visit>
void visit_fields(Descriptor& d, Visit visit) {
    visit(kGroupSize, d.group_segment_fixed_size);
    visit(kPrivateSize, d.private_segment_fixed_size);
    visit(kKernargSize, d.kernarg_size);
    visit(kEntryOffset, d.code_entry_offset);
    visit(kRsrc3, d.rsrc3);
    visit(kRsrc1, d.rsrc1);
    visit(kRsrc2, d.rsrc2);
    visit(kProperties, d.properties);
    visit(kKernargPreload, d.kernarg_preload);
}

}  // namespace

std::array<uint8_t, 64> encode(const KernelDescriptor& descriptor) {
    std::array<uint8_t, 64> bytes{};
    visit_fields(descriptor,
                 [&](Offset at, const auto& field) { std::memcpy(bytes.data() + at, &field, sizeof(field)); });
    return bytes;
}

KernelDescriptor decode_descriptor(std::span<const uint8_t, 64> bytes) {
    KernelDescriptor descriptor;
    visit_fields(descriptor, [&](Offset at, auto& field) { std::memcpy(&field, bytes.data() + at, sizeof(field)); });
    return descriptor;
}

int vgpr_encoding_granule(const ArchInfo& arch, int wave_size) {
    const bool rdna = !is_cdna(arch.family);
    return rdna && wave_size == 64 ? 4 : 8;
}

int KernelDescriptor::wave_size(const ArchInfo& arch) const { return arch.wave_size == 32 && wave32() ? 32 : 64; }

int KernelDescriptor::vgprs(const ArchInfo& arch) const {
    return static_cast<int>((rsrc1 & 63) + 1) * vgpr_encoding_granule(arch, wave_size(arch));
}

int KernelDescriptor::sgprs(const ArchInfo& arch) const {
    return is_cdna(arch.family) ? static_cast<int>((rsrc1 >> 6 & 15) / 2 + 1) * 16 : 0;
}

}  // namespace strata::isa
