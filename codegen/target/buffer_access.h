#pragma once
#include <optional>
#include <vector>

#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// Accesses through a descriptor of the memory's size (lang.CopyAtom of kind buffer). In a kernel the frozen part of
/// an index's predicate marks them: that the offset is below the memory's size, and not below 0. Rules leave it as it
/// is. Targets without descriptors take it as any predicate.
UOp checked_by_descriptor(UOp inside);

struct BufferAccess {
    /// The frozen part says of the offset just what a descriptor checks, and bytes of offsets do not wrap.
    bool is_exact;
    std::vector<UOp> others;  ///< parts of the predicate beside it
};
bool is_checked_by_descriptor(UOp index);
std::optional<BufferAccess> buffer_access(UOp index);
bool gives_zero(UOp value);  ///< all bits 0, as loads beyond the memory do

/// Dword 3 of a descriptor of bytes, without stride, swizzle and thread ids. CDNA3 ISA, "Buffer Resource Descriptor":
/// number format 7 and data format 4, either of which only must not be 0 (as MLIR's makeBufferRsrc). RDNA3 and RDNA4
/// ISA, "Buffer Resource Descriptor": format 32_FLOAT, OOB_SELECT 3 for raw buffers; bit 24 as LLVM sets it
/// (SIInstrInfo::getDefaultRsrcDataFormat).
constexpr uint32_t descriptor_kind(bool is_cdna) { return is_cdna ? 0x00027000 : 0x31016000; }

/// The offset of lanes that a predicate masks: -0.5 as bits, an inline constant. It lies beyond kMostBufferBytes, with
/// an instruction's own offset too.
inline constexpr uint32_t kBeyondBuffer = 0xbf000000;
inline constexpr int64_t kMostBufferBytes = int64_t{1} << 30;

}  // namespace strata::codegen
