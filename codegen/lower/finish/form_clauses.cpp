// form_clauses: s_clause in front of memory instructions of one kind that stand together. RDNA issues them without
// instructions of other waves between them (RDNA3 ISA 5.3).
// Before:  global_load_b32 v1, ...; global_load_b32 v2, ...
// After:   s_clause 0x1; global_load_b32 v1, ...; global_load_b32 v2, ...
#include "strata/codegen/machine/passes.h"
#include "strata/codegen/machine/placed_code.h"

namespace strata::codegen {
namespace {

constexpr size_t kLongestClause = 32;

enum class ClauseKind : uint8_t { none, scalar, load, store };

ClauseKind clause_kind(const isa::Inst& inst) {
    const isa::Format format = inst.row->format;
    const bool uses_memory = inst.row->flags & isa::kMemory && inst.row->src_kind[0];
    if (!uses_memory || inst.row->flags & isa::kAtomic) return ClauseKind::none;
    if (format == isa::Format::SMEM) return inst.dst[0].present() ? ClauseKind::scalar : ClauseKind::none;
    if (!isa::is_buffer(format) && !isa::is_flat(format)) return ClauseKind::none;
    return inst.row->flags & isa::kStore ? ClauseKind::store : ClauseKind::load;
}

}  // namespace

Result<void> form_clauses(MachineFunction& function) {
    if (isa::is_cdna(function.family)) return {};
    for (Block& block : function.blocks) {
        std::vector<Insertion> added;
        for (size_t i = 0; i < block.code.size();) {
            const ClauseKind kind = clause_kind(block.code[i].inst);
            size_t end = i + 1;
            while (kind != ClauseKind::none && end < block.code.size() && end - i < kLongestClause &&
                   clause_kind(block.code[end].inst) == kind)
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
