#include "strata/asm/emu/check/scalar_loads.h"

#include <algorithm>
#include <cstring>

#include "strata/asm/emu/machine/device_memory.h"
#include "strata/asm/emu/machine/workgroup.h"
#include "strata/asm/emu/memory/ops.h"

namespace strata::emu {

bool is_plain_scalar(const isa::Inst& inst) {
    return inst.row->mnemonic.starts_with("s_load_") || inst.row->mnemonic.starts_with("s_store_");
}

uint64_t scalar_address(const Wave& wave, const ScalarMemoryFields& fields) {
    const auto offset = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(fields.offset)));
    uint32_t more = fields.soffset;
    if (!fields.constant_soffset) memcpy(&more, reinterpret_cast<const char*>(&wave) + fields.soffset, sizeof more);
    return (scalar64(&wave, fields.base) + offset + more) & ~3ull;
}

uint32_t scalar_bytes(const lint::Access& access) {
    uint32_t bytes = 0;
    for (const lint::Write& write : access.all_writes()) bytes = 4u * write.registers.count;
    for (const lint::Read& read : access.all_reads())
        if (read.use == lint::Use::stored) bytes = 4u * read.registers.count;
    return bytes;
}

bool may_be_widened(const isa::Inst& inst, uint32_t bytes) {
    return inst.row->mnemonic.starts_with("s_load_") && (bytes == 8 || bytes == 16);
}

uint32_t bytes_inside(const Wave& wave, const Op& op, uint32_t bytes) {
    const ScalarMemoryFields& fields = op.scalar_memory();
    const uint64_t address = scalar_address(wave, fields);
    const Wave::Hit& hit = wave.hits[fields.hit];
    if (address >= hit.low && address <= hit.high - bytes) return bytes;
    const Allocation* const at = wave.group->launch->memory->find(address, 1);
    return at ? static_cast<uint32_t>(std::min<uint64_t>(at->high - address, bytes)) : bytes;
}

}  // namespace strata::emu
