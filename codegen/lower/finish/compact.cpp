// compact: smaller encodings of the same operations (compact.def), and two of them as one where RDNA issues both at
// once.
// Before:  v_fma_f32 v0, v1, v2, v0; v_add_f32 v3, v4, v5; v_mul_f32 v6, v7, v8
// After:   v_fmac_f32 v0, v1, v2;    v_dual_add_f32 v3, v4, v5 :: v_dual_mul_f32 v6, v7, v8
#include <algorithm>

#include "strata/codegen/lower/finish/commute_p.h"
#include "strata/codegen/lower/finish/vopd_p.h"
#include "strata/codegen/machine/by_family.h"
#include "strata/codegen/machine/passes.h"

namespace strata::codegen {
namespace {

struct Tied {
    std::string_view mnemonic, tied;
};
constexpr Tied kTied[] = {
#define TIED(mnemonic, tied) {#mnemonic, #tied},
#include "strata/codegen/lower/finish/compact.def"
};
struct Constant {
    std::string_view mnemonic, shorter;
    bool scc;
};
constexpr Constant kConstants[] = {
#define CONSTANT(mnemonic, shorter, scc) {#mnemonic, #shorter, scc},
#include "strata/codegen/lower/finish/compact.def"
};
struct Compared {
    std::string_view mnemonic, shorter;
    bool sign;
};
constexpr Compared kCompared[] = {
#define COMPARED(mnemonic, shorter, sign) {#mnemonic, #shorter, sign},
#include "strata/codegen/lower/finish/compact.def"
};

/// An instruction whose operands are all there is to it.
bool is_plain(const isa::Inst& inst) {
    return !(inst.neg | inst.abs | inst.op_sel | inst.omod) && !inst.clamp && !inst.sdwa.present && !inst.row_y &&
           inst.dpp.kind == isa::DppKind::none;
}

struct Rows {
    const isa::Row* from[2] = {};  ///< native and VOP3
    const isa::Row* to = nullptr;
    bool has(const isa::Row* row) const { return to && (row == from[0] || row == from[1]); }
};
/// compact.def as a family has it.
struct Shorter {
    std::vector<Rows> swaps, tied, constants, compared;

    explicit Shorter(isa::Family family) {
        const auto rows = [&](std::string_view from, std::string_view to) {
            return Rows{{isa::find_row(family, from), isa::find_row(family, from, isa::Format::VOP3)},
                        isa::find_row(family, to)};
        };
        for (const Swap& row : kSwaps) swaps.push_back(rows(row.mnemonic, row.swapped));
        for (const Tied& row : kTied) tied.push_back(rows(row.mnemonic, row.tied));
        for (const Constant& row : kConstants) constants.push_back(rows(row.mnemonic, row.shorter));
        for (const Compared& row : kCompared) compared.push_back(rows(row.mnemonic, row.shorter));
    }
};
class Shortener {
  public:
    explicit Shortener(MachineFunction& function)
        : function_(function), shorter_(of_family<Shorter>(function.family)) {}

    void run(std::vector<Instruction>& code) {
        for (size_t i = 0; i < code.size(); ++i) {
            Instruction& one = code[i];
            if (!is_plain(one.inst)) continue;
            tie(one);
            swap(one);
            constant(code, i);
            compare(one.inst);
        }
    }

  private:
    int words(const isa::Inst& inst) const {
        const auto encoded = isa::encode(function_.target.arch, inst);
        return encoded ? encoded->count : INT_MAX;
    }

    static void put_types(isa::Inst& inst, const isa::Row& row) {
        inst.row = &row;
        inst.encoding = row.format;
        for (size_t i = 0; i < 2; ++i) inst.dst[i].type = inst.dst[i].present() ? row.dst[i] : isa::Type::none;
        for (size_t i = 0; i < 4; ++i) inst.src[i].type = inst.src[i].present() ? row.src[i] : isa::Type::none;
    }

    /// v_fma -> v_fmac where the sum is the destination.
    void tie(Instruction& one) const {
        for (const Rows& row : shorter_.tied) {
            if (!row.has(one.inst.row) || one.inst.src[2].code != one.inst.dst[0].code) continue;
            isa::Inst made = one.inst;
            made.src[2] = {};
            made.op_sel_hi = 0;
            put_types(made, *row.to);
            if (!made.src[1].is_vgpr()) std::swap(made.src[0], made.src[1]);
            if (words(made) >= words(one.inst)) return;
            one.inst = made;
            one.keeps = true;
            return;
        }
    }

    void swap(Instruction& one) const {
        if (one.inst.src[1].is_vgpr() || !one.inst.src[0].is_vgpr()) return;
        for (const Rows& row : shorter_.swaps) {
            if (!row.has(one.inst.row)) continue;
            isa::Inst made = one.inst;
            std::swap(made.src[0], made.src[1]);
            put_types(made, *row.to);
            if (words(made) < words(one.inst)) one.inst = made;
            return;
        }
    }

    void constant(std::vector<Instruction>& code, size_t at) const {
        isa::Inst& inst = code[at].inst;
        for (size_t i = 0; i < shorter_.constants.size(); ++i) {
            if (!shorter_.constants[i].has(inst.row)) continue;
            const bool moves = !inst.src[1].present();
            const size_t literal = moves || inst.src[0].is_literal() ? 0 : 1;
            const auto value = static_cast<int32_t>(inst.literal);
            if (!inst.src[literal].is_literal() || value != static_cast<int16_t>(value)) return;
            if (!moves && inst.src[1 - literal].code != inst.dst[0].code) return;
            if (!kConstants[i].scc && !scc_is_dead(code, at + 1)) return;
            isa::Inst made{
                .row = shorter_.constants[i].to, .encoding = shorter_.constants[i].to->format, .dst = {inst.dst[0]}};
            made.dst[0].type = made.row->dst[0];
            made.offset = value;
            if (words(made) < words(inst)) inst = made;
            return;
        }
    }

    void compare(isa::Inst& inst) const {
        if (inst.row->format != isa::Format::SOPC || !inst.src[1].is_literal() || inst.src[0].is_literal()) return;
        for (size_t i = 0; i < shorter_.compared.size(); ++i) {
            if (!shorter_.compared[i].has(inst.row)) continue;
            const auto bits = static_cast<uint16_t>(inst.literal);
            const auto value = static_cast<int16_t>(bits);
            if (inst.literal != (kCompared[i].sign ? static_cast<uint32_t>(value) : bits)) return;
            isa::Inst made{.row = shorter_.compared[i].to, .encoding = shorter_.compared[i].to->format};
            made.src[0] = {inst.src[0].code, made.row->src[0]};
            made.offset = value;
            if (words(made) < words(inst)) inst = made;
            return;
        }
    }

    /// True if SCC is written before it is read; at the end of a block it may be read.
    bool scc_is_dead(const std::vector<Instruction>& code, size_t from) const {
        for (size_t i = from; i < code.size(); ++i) {
            const lint::Access access = lint::access_of(function_.target.arch, code[i].inst, function_.wave_size());
            for (const lint::Read& read : access.all_reads())
                if (read.registers.first == lint::kScc) return false;
            for (const lint::Write& write : access.all_writes())
                if (write.registers.first == lint::kScc) return true;
            if (code[i].inst.row->mnemonic == "s_endpgm") return true;
        }
        return false;
    }

    MachineFunction& function_;
    const Shorter& shorter_;
};

}  // namespace

Result<void> compact(MachineFunction& function) {
    Shortener shortener(function);
    for (Block& block : function.blocks) {
        shortener.run(block.code);
        if (!isa::is_cdna(function.family) && function.wave_size() == 32) form_vopd(function, block.code);
    }
    return {};
}

}  // namespace strata::codegen
