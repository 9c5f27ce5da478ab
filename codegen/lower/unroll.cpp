// unroll: several rounds of a short loop as one block, so that the loads of one can pass the sums of another.
// Before  r0: ...; s_add_u32 s4, s4, 1; s_cmp_lg_u32 s4, 16; s_cbranch_scc1 r0      s4 = 0 in front of r0
// After   r0: ...; s_add_u32 s4, s4, 1; ...; s_add_u32 s4, s4, 1; s_cmp_lg_u32 s4, 16; s_cbranch_scc1 r0
//         or no loop at all, where all rounds are short enough. What lives in one round has registers of its own in each.
#include <optional>

#include "strata/codegen/lower/liveness_p.h"
#include "strata/codegen/lower/operands_p.h"
#include "strata/codegen/lower/passes_p.h"

namespace strata::codegen {
namespace {

/// Instructions of all rounds of a loop that becomes straight code, and of the rounds that are one block otherwise.
constexpr int64_t kWhole = 256, kPart = 128;
constexpr int64_t kMostRounds = 8;
/// The counter's step, the test and the branch, which stand at the end of the loop.
constexpr size_t kControl = 3;

std::optional<int64_t> constant(const Instruction& instruction, size_t i) {
    const isa::Operand& operand = instruction.inst.src[i];
    if (instruction.src[i]) return {};
    if (operand.is_literal()) return static_cast<int32_t>(instruction.inst.literal);
    if (isa::is_inline_integer(operand.code)) return isa::inline_integer(operand.code);
    return {};
}

std::string_view name(const Instruction& instruction) {
    return instruction.pseudo == Pseudo::none ? instruction.inst.row->mnemonic : std::string_view();
}

class Unroller {
  public:
    explicit Unroller(MachineFunction& function) : function_(function) {}

    void run() {
        std::vector<std::pair<uint32_t, int64_t>> loops;
        for (uint32_t b = 1; b < function_.blocks.size(); ++b)
            if (const int64_t rounds = rounds_of(b); rounds > 1) loops.emplace_back(b, rounds);
        if (loops.empty()) return;
        live_.emplace(function_);
        accesses_.assign(function_.registers.size(), kNowhere);
        for (uint32_t b = 0; b < function_.blocks.size(); ++b)
            for (const Instruction& instruction : function_.blocks[b].code) {
                auto note = [&](Place place) {
                    uint32_t& block = accesses_[place.reg];
                    block = block == kNowhere || block == b ? b : kSeveral;
                };
                each_read(function_, instruction, note);
                each_write(instruction, note);
            }
        for (const auto& [b, rounds] : loops) unroll(b, rounds);
    }

  private:
    static constexpr uint32_t kNowhere = UINT32_MAX, kSeveral = UINT32_MAX - 1;

    /// How often a block that branches to itself alone runs; 0 for any other, or where that is not known.
    int64_t rounds_of(uint32_t b) const {
        const std::vector<Instruction>& code = function_.blocks[b].code;
        if (code.size() <= kControl) return 0;
        const Instruction &step = code[code.size() - 3], &test = code[code.size() - 2], &branch = code.back();
        if (name(branch) != "s_cbranch_scc1" || branch.target != b || targets(b) != 1) return 0;
        const bool differs = name(test) == "s_cmp_lg_u32", less = name(test) == "s_cmp_lt_i32";
        const Place counter = test.src[0];
        const bool adds = name(step) == "s_add_u32" || name(step) == "s_add_i32" || name(step) == "s_add_co_u32" ||
                          name(step) == "s_add_co_i32";
        if (!(differs || less) || !adds || !counter || counter.dwords != 1) return 0;
        if (step.dst[0] != counter || step.src[0] != counter) return 0;
        for (size_t i = 0; i + kControl < code.size(); ++i)
            if (writes(code[i], counter)) return 0;
        const std::optional<int64_t> first = value_before(b, counter), by = constant(step, 1), end = constant(test, 1);
        if (!first || !by || !end || *by <= 0 || *end <= *first) return 0;
        const int64_t way = *end - *first;
        if (differs && way % *by) return 0;
        return (way + *by - 1) / *by;
    }

    size_t targets(uint32_t b) const {
        size_t count = 0;
        for (const Block& block : function_.blocks)
            for (const Instruction& instruction : block.code)
                count += instruction.pseudo == Pseudo::none && instruction.inst.row->flags & isa::kBranch &&
                         instruction.target == b;
        return count;
    }

    static bool writes(const Instruction& instruction, Place what) {
        for (Place place : instruction.dst)
            if (place && place.reg == what.reg && place.first < what.first + what.dwords &&
                what.first < place.first + place.dwords)
                return true;
        return false;
    }

    /// What the block in front leaves in a register, if that is a constant.
    std::optional<int64_t> value_before(uint32_t b, Place what) const {
        const std::vector<Instruction>& code = function_.blocks[b - 1].code;
        for (size_t i = code.size(); i-- > 0;) {
            if (!writes(code[i], what)) continue;
            const bool whole = is_copy(code[i]) && !code[i].gate && code[i].dst[0] == what;
            return whole ? constant(code[i], 0) : std::nullopt;
        }
        return {};
    }

    void unroll(uint32_t b, int64_t rounds) {
        Block& block = function_.blocks[b];
        const auto size = static_cast<int64_t>(block.code.size() - kControl);
        int64_t together = rounds * size <= kWhole ? rounds : 1;
        for (int64_t k = 2; together != rounds && k <= kMostRounds && k * size <= kPart; ++k)
            if (rounds % k == 0) together = k;
        if (together == 1) return;
        const std::vector<Instruction> round = std::move(block.code);
        block.code.clear();
        block.code.reserve(round.size() * static_cast<size_t>(together));
        const size_t body = round.size() - kControl + 1;  // with the counter's step
        for (int64_t i = 0; i < together; ++i) {
            own_.clear();
            for (size_t at = 0; at < body; ++at) {
                block.code.push_back(round[at]);
                if (i) rename(block.code.back(), b);
            }
        }
        if (together < rounds) {
            block.code.insert(block.code.end(), round.end() - (kControl - 1), round.end());
        } else {
            block.label.clear();
            --block.depth;
        }
    }

    void rename(Instruction& instruction, uint32_t b) {
        auto own = [&](Place& place) {
            if (!place || place.reg >= accesses_.size() || !lives_in_a_round(place.reg, b)) return;
            for (const auto& [old, made] : own_)
                if (old == place.reg) return void(place.reg = made);
            const VirtualRegister row = function_.registers[place.reg];
            const uint32_t made = function_.add(row.bank, row.dwords, row.align).reg;
            own_.push_back({place.reg, made});
            place.reg = made;
        };
        for (Place& place : instruction.dst) own(place);
        for (Place& place : instruction.src) own(place);
        own(instruction.gate);
    }

    bool lives_in_a_round(uint32_t reg, uint32_t b) const {
        if (accesses_[reg] != b || function_.registers[reg].fixed >= 0) return false;
        for (uint32_t i = 0; i < function_.registers[reg].dwords; ++i)
            if (live_->live_at(live_->unit(reg, i), live_->block(b).begin)) return false;
        return true;
    }

    MachineFunction& function_;
    std::optional<Liveness> live_;                    // of the function as it was
    std::vector<uint32_t> accesses_;                  // the block that has all uses of a register
    std::vector<std::pair<uint32_t, uint32_t>> own_;  // registers and those that stand for them in a round
};

}  // namespace

Result<void> unroll(MachineFunction& function) {
    Unroller(function).run();
    return {};
}

}  // namespace strata::codegen
