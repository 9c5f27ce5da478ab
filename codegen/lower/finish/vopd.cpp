#include "strata/codegen/lower/finish/vopd_p.h"

#include <algorithm>
#include <optional>

#include "strata/codegen/lower/finish/commute_p.h"
#include "strata/codegen/machine/by_family.h"

namespace strata::codegen {
namespace {

constexpr size_t kPairReach = 40;  // instructions that the second half may come forward

/// The rows that can be halves of a dual instruction, by the row of the single one.
struct DualRows {
    std::vector<const isa::Row*> halves;

    explicit DualRows(isa::Family family) {
        const std::span<const isa::Row> rows = isa::rows(family);
        halves.resize(rows.size());
        for (const isa::Row& row : rows) {
            if (row.format != isa::Format::VOPD) continue;
            constexpr std::string_view prefix = "v_dual_";
            const std::string single = "v_" + std::string(row.mnemonic.substr(prefix.size()));
            const isa::Row* const of = isa::find_row(family, single);
            if (of) halves[static_cast<size_t>(of - rows.data())] = &row;
        }
    }
};

/// Instructions that do the same with their sources exchanged.
bool commutes(std::string_view mnemonic) {
    return std::ranges::any_of(kSwaps,
                               [&](const Swap& row) { return row.mnemonic == mnemonic && row.swapped == mnemonic; });
}

bool is_plain(const isa::Inst& inst) {
    return !(inst.neg | inst.abs | inst.op_sel | inst.omod) && !inst.clamp && inst.dpp.kind == isa::DppKind::none &&
           inst.encoding != isa::Format::VOP3;
}

class Pairs {
  public:
    Pairs(const MachineFunction& function, std::vector<Instruction>& code) : function_(function), code_(code) {
        accesses_.reserve(code.size());
        for (const Instruction& one : code)
            accesses_.push_back(lint::access_of(function.target.arch, one.inst, function.wave_size()));
        find_loads();
    }

    void run() {
        size_t kept = 0;
        for (size_t i = 0; i < code_.size(); ++i) {
            const size_t first = i;
            if (const size_t second = pair(code_[i], i)) pass_over(++i, second);
            if (kept != first) code_[kept] = std::move(code_[first]);
            ++kept;
        }
        code_.resize(kept);
    }

  private:
    /// Makes `one`, which is instruction i, a pair with a later one, whose number it returns; 0 where there is none.
    size_t pair(Instruction& one, size_t i) const {
        if (!half(one)) return 0;
        for (size_t j = i + 1; j < std::min(code_.size(), i + 1 + kPairReach); ++j) {
            if (const auto both = together(i, j)) {
                one.inst = *both;
                one.keeps |= code_[j].keeps;
                return j;
            }
            if (is_branch(code_[j])) return 0;
        }
        return 0;
    }

    const isa::Row* half(const Instruction& one) const {
        if (one.pseudo != Pseudo::none || !is_plain(one.inst)) return nullptr;
        const std::vector<const isa::Row*>& table = of_family<DualRows>(function_.family).halves;
        const isa::Row* const first = isa::rows(function_.family).data();
        return table[static_cast<size_t>(one.inst.row - first)];
    }

    /// The load that each instruction waits for: the latest in the block that it or one before it reads, from 1 on.
    void find_loads() {
        std::array<uint16_t, 768> from{};
        uint16_t waited = 0;
        for (size_t i = 0; i < code_.size(); ++i) {
            uint16_t need = 0;
            for (const lint::Read& read : accesses_[i].all_reads())
                for (uint32_t reg = read.registers.first; reg < read.registers.first + 0u + read.registers.count; ++reg)
                    need = std::max(need, from[std::min<size_t>(reg, from.size() - 1)]);
            needs_.push_back(need);
            waited = std::max(waited, need);
            waited_.push_back(waited);
            for (const lint::Write& write : accesses_[i].all_writes())
                for (uint32_t reg = write.registers.first;
                     reg < write.registers.first + 0u + write.registers.count && reg < from.size(); ++reg)
                    from[reg] = write.late ? static_cast<uint16_t>(i + 1) : uint16_t{0};
        }
    }

    static bool touches(const lint::Registers& registers, const lint::Access& access, bool reads, bool writes) {
        const auto overlaps = [&](const auto& one) { return one.registers.overlaps(registers); };
        return (reads && std::ranges::any_of(access.all_reads(), overlaps)) ||
               (writes && std::ranges::any_of(access.all_writes(), overlaps));
    }
    /// True if a later instruction may run before an earlier one; halves of one read before either writes.
    static bool may_pass(const lint::Access& later, const lint::Access& earlier, bool at_once) {
        for (const lint::Read& read : later.all_reads())
            if (touches(read.registers, earlier, false, true)) return false;
        for (const lint::Write& write : later.all_writes())
            if (touches(write.registers, earlier, !at_once, true)) return false;
        return true;
    }

    std::optional<isa::Inst> together(size_t i, size_t j) const {
        if (code_[i].inst.dst[0].code % 2 == code_[j].inst.dst[0].code % 2)
            return {};  // one of each bank (RDNA3 ISA 7.6)
        if (needs_[j] > waited_[i] || !half(code_[j])) return {};
        for (size_t k = j; k-- > i;)  // what is right in front of it is what it most often needs
            if (!may_pass(accesses_[j], accesses_[k], k == i)) return {};
        if (auto pair = dual(code_[i], code_[j])) return pair;
        return dual(code_[j], code_[i]);
    }

    /// Sources of one bank clash: they are read in one clock (RDNA3 ISA 7.6).
    static bool clash(const isa::Operand& a, const isa::Operand& b) {
        return a.is_vgpr() && b.is_vgpr() && a.code != b.code && a.code % 4 == b.code % 4;
    }

    /// The encoder knows which halves and registers go together; most that do not need not be asked about.
    std::optional<isa::Inst> dual(const Instruction& x, const Instruction& y) const {
        const auto literal = [](const isa::Inst& inst) {
            return inst.row->flags & isa::kLiteral || std::ranges::any_of(inst.src, [](const isa::Operand& one) {
                       return one.present() && one.is_literal();
                   });
        };
        const bool of_x = literal(x.inst), of_y = literal(y.inst);
        if (of_x && of_y && x.inst.literal != y.inst.literal) return {};
        isa::Inst made{.row = half(x), .encoding = isa::Format::VOPD, .row_y = half(y)};
        made.literal = of_x ? x.inst.literal : y.inst.literal;
        made.dst[0] = {x.inst.dst[0].code, made.row->dst[0]};
        made.dst_y = {y.inst.dst[0].code, made.row_y->dst[0]};
        const auto x_sources = sources(x.inst, *made.row), y_sources = sources(y.inst, *made.row_y);
        for (size_t i = 0; i < 2; ++i) made.src[i] = x_sources[i], made.src_y[i] = y_sources[i];
        auto encodes = [&] {
            return !clash(made.src[0], made.src_y[0]) && !clash(made.src[1], made.src_y[1]) &&
                   isa::encode(function_.target.arch, made);
        };
        if (encodes()) return made;
        // Sources of one bank may be apart the other way round.
        if (!made.src_y[0].is_vgpr() || !made.src_y[1].is_vgpr() || !commutes(y.inst.row->mnemonic)) return {};
        std::swap(made.src_y[0], made.src_y[1]);
        return encodes() ? std::optional(made) : std::nullopt;
    }

    /// Without what a half implies: its literal, the mask.
    static std::array<isa::Operand, 2> sources(const isa::Inst& inst, const isa::Row& row) {
        const size_t second = row.flags & isa::kLiteralSecond ? 2 : 1;
        std::array<isa::Operand, 2> all{};
        for (size_t i = 0; i < 2; ++i)
            if (row.src_kind[i]) all[i] = {inst.src[i ? second : 0].code, row.src[i]};
        return all;
    }

    /// Moves instructions from `first` on by one, over that at `last`.
    void pass_over(size_t first, size_t last) {
        const auto move = [&](auto& list) {
            const auto begin = list.begin();
            std::move_backward(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(last),
                               begin + static_cast<std::ptrdiff_t>(last + 1));
        };
        move(code_);
        move(accesses_);
        move(needs_);
        move(waited_);
    }

    const MachineFunction& function_;
    std::vector<Instruction>& code_;
    std::vector<lint::Access> accesses_;
    std::vector<uint16_t> needs_, waited_;
};

}  // namespace

void form_vopd(const MachineFunction& function, std::vector<Instruction>& code) { Pairs(function, code).run(); }

}  // namespace strata::codegen
