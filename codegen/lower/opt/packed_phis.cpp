// packed_phis: two halves that a loop takes apart at its end and joins again at its start stay in one register. The
// register is taken apart after the loop.
// Before:      ...                                    After:      v_perm_b32 %v9, %v2, %v1, 0x5040100
//          r0: v_perm_b32 %v3, %v2, %v1, 0x5040100            r0: copy %v3, %v9
//              v_wmma_f16 %v4, ..., %v3                           v_wmma_f16 %v4, ..., %v3
//              v_lshrrev_b32 %v5, 16, %v4                         copy %v9, %v4
//              copy %v1, %v4; copy %v2, %v5                       s_cbranch_scc1 r0
//              s_cbranch_scc1 r0                                  copy %v1, %v9; v_lshrrev_b32 %v2, 16, %v9
#include <optional>

#include "strata/codegen/machine/builder.h"
#include "strata/codegen/machine/operands.h"
#include "strata/codegen/machine/passes.h"

namespace strata::codegen {
namespace {

constexpr uint32_t kNowhere = UINT32_MAX;
/// The lower halves of v_perm_b32's second and first source.
constexpr uint32_t kLowHalves = 0x05040100;

class KeepPacked {
  public:
    explicit KeepPacked(MachineFunction& function)
        : function_(function),
          join_(row_of(function.family, "v_perm_b32")),
          down_(row_of(function.family, "v_lshrrev_b32")),
          field_(row_of(function.family, "v_bfe_u32")) {}

    void run() {
        for (uint32_t b = 1; b + 1 < function_.blocks.size(); ++b)
            if (is_loop(function_, b)) keep(b);
        if (kept_) remove_dead_code(function_);
    }

  private:
    /// How a register is used in the block.
    struct Uses {
        uint32_t writer = kNowhere, writes = 0, reads = 0;
    };
    /// A half that is carried into the next round: the copy that writes its register, what it was made by, of which
    /// dword.
    struct Half {
        uint32_t copy = kNowhere, made_by = kNowhere;
        Place of;
    };

    void keep(uint32_t b) {
        std::vector<Instruction>& code = function_.blocks[b].code;
        if (std::ranges::none_of(code, [&](const Instruction& one) { return joins(one); })) return;
        uses_.assign(function_.registers.size(), {});
        for (uint32_t k = 0; k < code.size(); ++k) {
            each_read(function_, code[k], [&](Place place) { ++uses_[place.reg].reads; });
            each_write(code[k], [&](Place place) {
                ++uses_[place.reg].writes;
                uses_[place.reg].writer = k;
            });
        }
        std::vector<Instruction> behind;
        for (uint32_t k = 0; k < code.size(); ++k) {
            if (!joins(code[k])) continue;
            const std::optional<Half> low = carried(code, k, code[k].src[1], false),
                                      high = carried(code, k, code[k].src[0], true);
            if (low && high && low->of == high->of) change(b, k, *low, *high, behind);
        }
        std::erase_if(code, [](const Instruction& one) { return is_copy(one) && !one.dst[0]; });
        std::vector<Instruction>& next = function_.blocks[b + 1].code;
        next.insert(next.begin(), behind.begin(), behind.end());
    }

    bool joins(const Instruction& one) const {
        return one.pseudo == Pseudo::none && one.inst.row == join_ && !one.predicate && one.src[0] && one.src[1] &&
               !one.src[2] && one.inst.src[2].is_literal() && one.inst.literal == kLowHalves;
    }

    /// The half that the ending round leaves in a register that only the join at `at` reads.
    std::optional<Half> carried(const std::vector<Instruction>& code, uint32_t at, Place place, bool upper) const {
        const Uses& uses = uses_[place.reg];
        const bool whole = function_.registers[place.reg].dwords == 1 && function_.bank(place) == Bank::vector;
        if (!whole || uses.writes != 1 || uses.reads != 1 || uses.writer <= at) return {};
        const Instruction& copy = code[uses.writer];
        if (!is_register_copy(copy) || function_.bank(copy.src[0]) != Bank::vector) return {};
        const Place from = copy.src[0];
        const Uses& source = uses_[from.reg];
        if (source.writes != 1 || source.writer > uses.writer) return {};
        const Instruction& made = code[source.writer];
        if (const std::optional<Place> of = half_of(made, upper)) {
            const Uses& packed = uses_[of->reg];
            if (packed.writes != 1 || packed.writer > source.writer || made.dst[0] != from) return {};
            return Half{uses.writer, source.writer, *of};
        }
        if (upper) return {};
        return Half{uses.writer, kNowhere, from};
    }

    /// The dword of which an instruction takes a half.
    std::optional<Place> half_of(const Instruction& one, bool upper) const {
        const auto is = [&](size_t i, int number) {
            return !one.src[i] && one.inst.src[i].code == isa::code::inline_zero + number;
        };
        if (one.pseudo != Pseudo::none || one.predicate) return {};
        if (upper && one.inst.row == down_ && is(0, 16) && one.src[1]) return one.src[1];
        if (!upper && one.inst.row == field_ && is(1, 0) && is(2, 16) && one.src[0]) return one.src[0];
        return {};
    }

    void change(uint32_t b, uint32_t at, const Half& low, const Half& high, std::vector<Instruction>& behind) {
        std::vector<Instruction>& code = function_.blocks[b].code;
        const Place packed = function_.add(Bank::vector, 1);
        Instruction join = code[at];
        join.dst[0] = packed;
        function_.blocks[b - 1].code.push_back(join);
        const Place joined = code[at].dst[0];
        const auto copy = [](Place to, Place from, uint32_t origin) {
            Instruction made{.pseudo = Pseudo::copy, .origin = origin};
            made.dst[0] = to;
            made.src[0] = from;
            return made;
        };
        for (const Half* half : {&low, &high}) {
            Instruction apart = copy(code[half->copy].dst[0], packed, code[half->copy].origin);
            if (half->made_by != kNowhere) {
                apart = code[half->made_by];
                for (Place& place : apart.src)
                    if (place) place = packed;
                apart.dst[0] = code[half->copy].dst[0];
            }
            behind.push_back(std::move(apart));
        }
        code[at] = copy(joined, packed, code[at].origin);
        code[high.copy].dst[0] = {};
        code[low.copy] = copy(packed, low.of, code[low.copy].origin);
        kept_ = true;
    }

    MachineFunction& function_;
    const isa::Row *join_, *down_, *field_;
    std::vector<Uses> uses_;  // of each register in the block
    bool kept_ = false;
};

}  // namespace

Result<void> packed_phis(MachineFunction& function) {
    KeepPacked(function).run();
    return {};
}

}  // namespace strata::codegen
