// unroll: several rounds of a short loop as one block, so that the loads of one can pass the sums of another.
// Before  r0: ...; s_add_u32 s4, s4, 1; s_cmp_lg_u32 s4, 16; s_cbranch_scc1 r0      s4 = 0 in front of r0
// After   r0: ...; s_add_u32 s4, s4, 1; ...; s_add_u32 s4, s4, 1; s_cmp_lg_u32 s4, 16; s_cbranch_scc1 r0
//         or no loop at all, but one block with what stood around it, where all rounds are short enough.
// A value that lives in one round has a register of its own in each.
// Memory instructions whose address moves by the same amount in each round have it as an offset from that of the first.
// Where that is out of reach, they have a base that is moved from round to round.
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "strata/codegen/machine/builder.h"
#include "strata/codegen/machine/liveness.h"
#include "strata/codegen/machine/operands.h"
#include "strata/codegen/machine/passes.h"

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

bool adds_scalars(const Instruction& one) {
    const std::string_view what = name(one);
    return what == "s_add_u32" || what == "s_add_i32" || what == "s_add_co_u32" || what == "s_add_co_i32";
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
        if (needless_) remove_dead_code(function_);
        for (const auto& [b, counter] : unrolled_) fuse_siblings(b, counter);
        if (!unrolled_.empty()) remove_dead_code(function_);
        join_blocks();
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
        if (!(differs || less) || !adds_scalars(step) || !counter || counter.dwords != 1) return 0;
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

    /// The value that the block before leaves in a register, if it is a constant.
    std::optional<int64_t> value_before(uint32_t b, Place what) const {
        const std::vector<Instruction>& code = function_.blocks[b - 1].code;
        for (size_t i = code.size(); i-- > 0;) {
            if (!writes(code[i], what)) continue;
            const bool whole = is_copy(code[i]) && !code[i].predicate && code[i].dst[0] == what;
            return whole ? constant(code[i], 0) : std::nullopt;
        }
        return {};
    }

    void unroll(uint32_t b, int64_t rounds) {
        Block& block = function_.blocks[b];
        count_writes(block.code);
        find_followers(block.code, b);
        const auto size = static_cast<int64_t>(block.code.size() - kControl);
        const int64_t further = size_of_further_rounds(block.code, b);
        const auto length = [&](int64_t count) { return size + (count - 1) * further; };
        int64_t together = length(rounds) <= kWhole ? rounds : 1;
        for (int64_t k = 2; together != rounds && k <= kMostRounds && length(k) <= kPart; ++k)
            if (rounds % k == 0) together = k;
        if (together == 1) return;
        const std::vector<Instruction> round = std::move(block.code);
        unrolled_.push_back({b, round[round.size() - 2].src[0]});
        block.code.clear();
        block.code.reserve(round.size() * static_cast<size_t>(together));
        const size_t body = round.size() - kControl + 1;  // with the counter's step
        leaders_.assign(body, {});
        for (int64_t i = 0; i < together; ++i) {
            own_.clear();
            moved_.clear();
            for (size_t at = 0; at < body; ++at) {
                Instruction one = round[at];
                if (i) rename(one, b);
                if (followers_[at]) follow(one, leaders_[at], i, movable_[at], block.code);
                block.code.push_back(std::move(one));
            }
        }
        if (together < rounds) {
            block.code.insert(block.code.end(), round.end() - (kControl - 1), round.end());
            for (Instruction& one : block.code) one.stride = longer(one.stride, together);
        } else {
            block.label.clear();
            --block.depth;
            if (value_before(b, unrolled_.back().second) == 0) fold_zero(block.code, b, unrolled_.back().second);
            for (Instruction& one : block.code) one.stride = Instruction::kUnsteady;  // it was of this loop
        }
    }

    /// A counter that begins with 0 adds nothing to the addresses of the first round.
    void fold_zero(std::vector<Instruction>& code, uint32_t b, Place counter) {
        std::map<uint32_t, Place> same;  // registers that are another
        std::set<uint32_t> zeros{counter.reg};
        for (size_t at = 0; at < code.size(); ++at) {
            Instruction& one = code[at];
            for (Place& source : one.src)
                if (const auto other = source ? same.find(source.reg) : same.end(); other != same.end())
                    source = other->second;
            if (steps(one, counter)) zeros.clear();
            const Place to = one.dst[0];
            if (zeros.empty() || !to || to.reg >= accesses_.size() || one.predicate || one.keeps) continue;
            if (function_.registers[to.reg].dwords != 1 || !lives_in_a_round(to.reg, b)) continue;
            if (writes_[live_->unit(to)] != 1) continue;
            const auto is_zero = [&](size_t i) { return one.src[i] && zeros.contains(one.src[i].reg); };
            const auto is_fixed = [&](size_t i) {
                const Place from = one.src[i];
                return from && function_.bank(from) == function_.bank(to) && !writes_[live_->unit(from)];
            };
            const std::string_view what = name(one);
            if ((what == "s_mul_i32" && (is_zero(0) || is_zero(1))) || (what == "s_lshl_b32" && is_zero(0)))
                zeros.insert(to.reg);
            const bool adds = adds_scalars(one) && leaves_scc(function_, code, at);
            if (!adds && what != "v_add_nc_u32" && what != "v_add_u32") continue;
            for (size_t i = 0; i < 2; ++i)
                if (is_zero(i) && is_fixed(1 - i)) same[to.reg] = one.src[1 - i];
        }
        needless_ |= !same.empty();
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
        own(instruction.predicate);
    }

    static int32_t longer(int32_t stride, int64_t rounds) {
        const int64_t all = stride * rounds;
        const bool known = stride != Instruction::kUnsteady && all == static_cast<int32_t>(all);
        return known ? static_cast<int32_t>(all) : Instruction::kUnsteady;
    }

    void count_writes(const std::vector<Instruction>& round) {
        writes_.assign(live_->units(), 0);
        for (const Instruction& instruction : round)
            each_write(instruction, [&](Place place) {
                const bool some = instruction.predicate || instruction.keeps;
                for (int i = 0; i < place.dwords; ++i) {
                    uint8_t& count = writes_[live_->unit(place.part(i))];
                    count = static_cast<uint8_t>(std::min(count + (some ? 2 : 1), 2));
                }
            });
    }

    /// True if it has in every round what the first one left in it.
    bool stays(Place place, uint32_t b) const {
        bool written = false;
        for (int i = 0; i < place.dwords; ++i) {
            const int writes = writes_[live_->unit(place.part(i))];
            if (writes > 1) return false;
            written |= writes;
        }
        return !written || lives_in_a_round(place.reg, b);
    }

    /// Sources that are its address.
    static std::array<size_t, 2> address_of(const Instruction& one) {
        if (one.inst.row->format == isa::Format::MUBUF) return {0, 2};
        if (one.inst.row->format != isa::Format::GLOBAL) return {0, 0};
        return {0, one.inst.row->flags & (isa::kStore | isa::kAtomic) ? 2u : 1u};
    }

    /// Memory instructions whose address is an offset from that of an earlier round. Also those of them in front of
    /// which their base may be moved.
    void find_followers(const std::vector<Instruction>& round, uint32_t b) {
        followers_.assign(round.size(), false);
        movable_.assign(round.size(), false);
        bool scc = false;
        for (size_t at = round.size(); at-- > 0;) {
            const Instruction& one = round[at];
            if (writes_scc(function_, one)) scc = false;
            scc |= reads_scc(function_, one);
            if (one.stride == Instruction::kUnsteady) continue;
            followers_[at] =
                std::ranges::all_of(address_of(one), [&](size_t i) { return !one.src[i] || stays(one.src[i], b); });
            movable_[at] = followers_[at] && !scc && one.inst.row->format == isa::Format::GLOBAL && base_of(one) &&
                           function_.bank(base_of(one)) == Bank::scalar;
        }
    }

    static Place base_of(const Instruction& one) { return one.src[address_of(one)[1]]; }

    /// Instructions of a round but for those of addresses that are offsets from another's.
    int64_t size_of_further_rounds(const std::vector<Instruction>& round, uint32_t b) const {
        std::vector<bool> read(function_.registers.size());
        std::set<uint32_t> moved;  // bases
        bool scc = false;
        int64_t size = 0;
        for (size_t at = round.size() - kControl; at-- > 0;) {
            const Instruction& one = round[at];
            bool needed = has_effect(one) || (scc && writes_scc(function_, one));
            each_write(one, [&](Place place) { needed |= read[place.reg] || !lives_in_a_round(place.reg, b); });
            if (!needed) continue;
            ++size;
            if (writes_scc(function_, one)) scc = false;
            scc |= reads_scc(function_, one);
            bool follows = followers_[at] && reaches(one, one.inst.offset + (kMostRounds - 1) * int64_t{one.stride});
            if (!follows && movable_[at]) {
                follows = true;
                if (moved.insert(base_of(one).reg).second) size += 2;
            }
            const std::array<size_t, 2> address = follows ? address_of(one) : std::array<size_t, 2>{4, 4};
            for (size_t i = 0; i < one.src.size(); ++i)
                if (one.src[i] && i != address[0] && i != address[1]) read[one.src[i].reg] = true;
            if (one.predicate) read[one.predicate.reg] = true;
            if (reads_destination(function_, one)) read[one.dst[0].reg] = true;
        }
        return size;
    }

    bool reaches(const Instruction& one, int64_t offset) const {
        return offset_range(function_.family, one.inst.row->format).has(offset);
    }

    /// The round that a memory instruction's address is from, and what it is.
    struct Leader {
        int64_t round = 0;
        std::array<Place, 4> sources{};
    };
    /// Takes the leader's address where the offset reaches, or moves its base, else leads itself.
    void follow(Instruction& one, Leader& leader, int64_t round, bool movable, std::vector<Instruction>& code) {
        const int64_t way = (round - leader.round) * one.stride, offset = one.inst.offset + way;
        const bool near = round && reaches(one, offset), moves = round && !near && movable;
        if (near || moves)
            for (size_t i : address_of(one)) one.src[i] = leader.sources[i];
        if (near) one.inst.offset = static_cast<int32_t>(offset);
        if (moves) one.src[address_of(one)[1]] = moved(base_of(one), static_cast<int32_t>(way), one.origin, code);
        if (!near) leader = {round, one.src};
        needless_ |= near || moves;
    }

    /// A base with this added, which those of a round share that add the same to the same.
    Place moved(Place base, int32_t way, uint32_t origin, std::vector<Instruction>& code) {
        const auto [at, fresh] = moved_.try_emplace({base.reg, base.first, way});
        if (!fresh) return at->second;
        const Place to = function_.add(Bank::scalar, 2);
        for (auto [name, i, number] :
             {std::tuple("s_add_u32", 0, way), std::tuple("s_addc_u32", 1, way < 0 ? -1 : 0)}) {
            Instruction sum = instruction_of(*row_of(function_.family, name), origin);
            sum.dst[0] = to.part(i);
            sum.src[0] = base.part(i);
            put_constant(sum, 1, number);
            code.push_back(std::move(sum));
        }
        return at->second = to;
    }

    /// A former loop and the code around it become one block, unless another branch leads in between.
    void join_blocks() {
        std::vector<Block>& blocks = function_.blocks;
        for (auto b = static_cast<uint32_t>(blocks.size()); b-- > 1;) {
            Block &block = blocks[b], &before = blocks[b - 1];
            const bool falls_through = before.code.empty() || !is_branch(before.code.back());
            if (!falls_through || targets(b) || !block.label.empty() || block.depth != before.depth) continue;
            before.code.insert(before.code.end(), std::make_move_iterator(block.code.begin()),
                               std::make_move_iterator(block.code.end()));
            blocks.erase(blocks.begin() + b);
            for (Block& one : blocks)
                for (Instruction& instruction : one.code)
                    if (is_branch(instruction) && instruction.target > b) --instruction.target;
        }
    }

    static bool steps(const Instruction& instruction, Place counter) {
        return instruction.pseudo == Pseudo::none && instruction.inst.row->format == isa::Format::SOP2 &&
               instruction.dst[0] == counter && instruction.src[0] == counter && constant(instruction, 1);
    }

    /// Steps of a counter that nothing reads between them are one, or none at the end of what is no loop any more.
    void fuse_siblings(uint32_t b, Place counter) {
        std::vector<Instruction>& code = function_.blocks[b].code;
        Instruction* last = nullptr;
        for (Instruction& instruction : code) {
            if (steps(instruction, counter)) {
                if (last) {
                    put_constant(instruction, 1, *constant(instruction, 1) + *constant(*last, 1));
                    last->dst[0] = {};
                }
                last = &instruction;
                continue;
            }
            each_read(function_, instruction, [&](Place place) {
                if (place.reg == counter.reg) last = nullptr;
            });
        }
        if (last && !live_->live_at(live_->unit(counter), live_->block(b).end)) last->dst[0] = {};
        std::erase_if(code, [&](const Instruction& one) {
            return one.pseudo == Pseudo::none && one.inst.row->format == isa::Format::SOP2 && !one.dst[0] &&
                   one.src[0] == counter;
        });
    }

    static void put_constant(Instruction& instruction, size_t i, int64_t value) {
        const std::optional<uint16_t> code = isa::inline_integer_code(value);
        instruction.inst.src[i].code = code.value_or(isa::code::literal);
        if (!code) instruction.inst.literal = static_cast<uint32_t>(value);
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
    std::vector<uint8_t> writes_;                     // of each unit in a round; 2: several
    std::vector<bool> followers_, movable_;           // instructions of a round
    std::vector<Leader> leaders_;                     // of each of them
    std::map<std::tuple<uint32_t, uint8_t, int32_t>, Place> moved_;  // bases of a round
    bool needless_ = false;                                          // some instruction has another one's address
    std::vector<std::pair<uint32_t, Place>> unrolled_;               // blocks, and what counted their rounds
};

}  // namespace

Result<void> unroll(MachineFunction& function) {
    Unroller(function).run();
    return {};
}

}  // namespace strata::codegen
