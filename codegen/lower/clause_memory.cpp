// clause_memory: s_clause in front of memory instructions of one kind that stand together, so that RDNA issues them without
// those of other waves between them (RDNA3 ISA 5.3).
// Before:  global_load_b32 v1, ...; global_load_b32 v2, ...
// After:   s_clause 0x1; global_load_b32 v1, ...; global_load_b32 v2, ...
#include "strata/codegen/lower/added_p.h"
#include "strata/codegen/lower/passes_p.h"

namespace strata::codegen {
namespace {

constexpr size_t kLongest = 32;

enum class Kind : uint8_t { none, scalar, load, store };

Kind kind_of(const isa::Inst& inst) {
    const isa::Format format = inst.row->format;
    const bool uses_memory = inst.row->flags & isa::kMemory && inst.row->src_kind[0];
    if (!uses_memory || inst.row->flags & isa::kAtomic) return Kind::none;
    if (format == isa::Format::SMEM) return inst.dst[0].present() ? Kind::scalar : Kind::none;
    if (!isa::is_buffer(format) && !isa::is_flat(format)) return Kind::none;
    return inst.row->flags & isa::kStore ? Kind::store : Kind::load;
}

}  // namespace

Result<void> clause_memory(MachineFunction& function) {
    if (isa::is_cdna(function.family)) return {};
    for (Block& block : function.blocks) {
        std::vector<Insertion> added;
        for (size_t i = 0; i < block.code.size();) {
            const Kind kind = kind_of(block.code[i].inst);
            size_t end = i + 1;
            while (kind != Kind::none && end < block.code.size() && end - i < kLongest &&
                   kind_of(block.code[end].inst) == kind)
                ++end;
            if (end - i > 1)
                added.push_back(
                    {i, immediate(function, "s_clause", static_cast<int32_t>(end - i - 1), block.code[i].origin)});
            i = end;
        }
        insert(block, added);
    }
    return {};
}

}  // namespace strata::codegen
