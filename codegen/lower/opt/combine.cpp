// combine: two instructions, of which only the second reads the first's result, are one of three sources.
// Before:  v_add_nc_u32 %v3, %v1, %v2; v_lshlrev_b32 %v4, 2, %v3
// After:   v_add_lshl_u32 %v4, %v1, %v2, 2
// Both stand in one block, so that nothing is computed more often than it was. The rows are those of combine.def.
#include <algorithm>
#include <array>

#include "strata/codegen/machine/builder.h"
#include "strata/codegen/machine/operands.h"
#include "strata/codegen/machine/passes.h"
#include "strata/codegen/machine/unique_defs.h"

namespace strata::codegen {
namespace {

struct Fused {
    std::string_view second, first, as, order;
};
constexpr Fused kFused[] = {
#define FUSE(second, first, as, order) {#second, #first, #as, #order},
#include "strata/codegen/lower/opt/combine.def"
};

class Fuse {
  public:
    explicit Fuse(MachineFunction& function) : function_(function), values_(function), reads_(values_.units()) {
        for (const Fused& row : kFused)
            if (const isa::Row* as = row_of(function.family, row.as))
                rows_.push_back({forms(row.second), forms(row.first), as, row.order, row.second == "v_lshlrev_b32"});
    }

    void run() {
        for (const Block& block : function_.blocks)
            for (const Instruction& instruction : block.code)
                each_read(function_, instruction, [&](Place place) {
                    for (int i = 0; i < place.dwords; ++i) ++reads_[values_.unit(place, i)];
                });
        for (Block& block : function_.blocks) {
            writers_.clear();
            for (Instruction& instruction : block.code) {
                if (instruction.pseudo != Pseudo::none || !is_plain(instruction)) continue;
                fuse(instruction);
                writers_[values_.unit(instruction.dst[0])] = &instruction;
            }
        }
        if (fused_) remove_dead_code(function_);
    }

  private:
    using Forms = std::array<const isa::Row*, 2>;
    struct Row {
        Forms second, first;
        const isa::Row* as;
        std::string_view order;
        bool shifts;
    };
    Forms forms(std::string_view name) const {
        const isa::Row* own = row_of(function_.family, name);
        return {own, own ? isa::find_row(function_.family, own->mnemonic, isa::Format::VOP3) : nullptr};
    }
    static bool is(const Instruction& instruction, const Forms& forms) {
        return instruction.inst.row == forms[0] || instruction.inst.row == forms[1];
    }

    /// A computation of vector registers of one value.
    bool is_plain(const Instruction& instruction) const {
        const isa::Inst& inst = instruction.inst;
        const Place dst = instruction.dst[0];
        return dst && dst.dwords == 1 && function_.bank(dst) == Bank::vector && values_.holds(dst) && !inst.clamp &&
               !inst.neg && !inst.abs && !inst.op_sel && !inst.omod && is_pure(function_, instruction);
    }

    struct Source {
        Place place;
        isa::Operand operand;
        uint32_t literal;
    };
    static Source source(const Instruction& instruction, size_t i) {
        return {instruction.src[i], instruction.inst.src[i], instruction.inst.literal};
    }

    void fuse(Instruction& second) {
        for (const Row& row : rows_) {
            if (!is(second, row.second)) continue;
            for (const size_t at : {1, 0}) {
                if (row.shifts && at == 0) continue;
                const Place middle = second.src[at];
                if (!middle || reads_[values_.unit(middle)] != 1) continue;
                auto writer = writers_.find(values_.unit(middle));
                if (writer == writers_.end() || !is(*writer->second, row.first)) continue;
                const Instruction& first = *writer->second;
                if (!std::ranges::all_of(first.src, [&](Place p) { return !p || values_.holds(p); })) continue;
                if (write(second, row, {source(first, 0), source(first, 1), source(second, 1 - at)})) return;
            }
        }
    }

    /// False where the fields do not take the sources: constants beside each other, more scalars than one instruction
    /// reads.
    bool write(Instruction& second, const Row& row, const std::array<Source, 3>& sources) {
        Instruction made{.origin = second.origin};
        made.inst.row = row.as;
        made.inst.encoding = row.as->format;
        made.inst.dst[0].type = row.as->dst[0];
        made.dst[0] = second.dst[0];
        const bool cdna = isa::is_cdna(function_.family);
        std::vector<Place> scalars;
        bool literal = false;
        for (size_t i = 0; i < 3; ++i) {
            const Source& s = sources[row.order[i] == 'x' ? 2 : static_cast<size_t>(row.order[i] - 'a')];
            made.src[i] = s.place;
            made.inst.src[i] = {s.operand.code, row.as->src[i]};
            if (s.place && function_.bank(s.place) == Bank::scalar &&
                std::ranges::find(scalars, s.place) == scalars.end())
                scalars.push_back(s.place);
            if (s.place || !s.operand.is_literal()) continue;
            if (cdna || (literal && made.inst.literal != s.literal)) return false;
            literal = true;
            made.inst.literal = s.literal;
        }
        if (scalars.size() + literal > (cdna ? 1u : 2u)) return false;
        second = made;
        return fused_ = true;
    }

    MachineFunction& function_;
    UniqueDefs values_;
    std::vector<uint32_t> reads_;  // of each unit
    std::vector<Row> rows_;
    bool fused_ = false;
    std::unordered_map<uint32_t, const Instruction*> writers_;  // of a unit, in the block
};

}  // namespace

Result<void> combine(MachineFunction& function) {
    Fuse(function).run();
    return {};
}

}  // namespace strata::codegen
