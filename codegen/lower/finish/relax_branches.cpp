// relax_branches: branch relaxation. A branch reaches 32768 words. In longer code it goes to another on its way, around
// which the code there is led: no register, flag or condition is needed.
// Before:  loop: 40,000 words; s_cbranch_scc1 loop
// After:   loop: 10,000 words; s_branch on;  relay: s_branch loop;  on: 30,000 words; s_cbranch_scc1 relay
#include <optional>

#include "strata/codegen/machine/passes.h"
#include "strata/codegen/machine/placed_code.h"

namespace strata::codegen {
namespace {

constexpr int64_t kBranchReach = 32768;
/// Words that the passes after this one may add to each instruction: a wait or a delay.
constexpr uint32_t kAdded = 1;
constexpr uint32_t kLongestJump = 3 + kAdded;

/// A place between instructions: after the first `count` of a block.
struct Gap {
    uint32_t block;
    size_t count;
};

class Relays {
  public:
    explicit Relays(MachineFunction& function) : function_(function) {}

    Result<void> run() {
        for (measure(); std::optional<Branch> far = far_branch(); measure()) {
            if (const auto relay = relay_near(*far)) {
                far->instruction->target = *relay;
                continue;
            }
            const std::optional<Gap> gap = gap_near(*far);
            STRATA_CHECK(gap, "no place for a branch on the way of {}", to_string(function_, *far->instruction));
            // The branch moves with what is put in front of it.
            const uint32_t target = far->instruction->target, mark = UINT32_MAX;
            far->instruction->target = mark;
            put(*gap, target, far->instruction->origin, mark);
        }
        return {};
    }

  private:
    struct Branch {
        Instruction* instruction;
        int64_t from, to;  ///< words in front of the one after it, and of its target
        bool reaches(int64_t at) const { return -kBranchReach <= at - from && at - from < kBranchReach; }
        /// On the way, by more than half of a branch's reach; what is put in there does not move it out of reach.
        bool helps(int64_t at) const {
            const int64_t away = std::abs(at - from);
            return kBranchReach / 2 < away && away < kBranchReach - 4 * kLongestJump && (at < from) == (to < from);
        }
    };

    void measure() {
        starts_.clear();
        ends_.clear();
        int64_t words = 0;
        for (const Block& block : function_.blocks) {
            starts_.push_back(words);
            for (const Instruction& one : block.code) {
                const auto encoded = isa::encode(function_.target.arch, one.inst);
                words += encoded ? encoded->count + kAdded : kLongestJump;
                ends_.push_back(words);
            }
        }
    }

    std::optional<Branch> far_branch() {
        size_t at = 0;
        for (Block& block : function_.blocks)
            for (Instruction& one : block.code) {
                const int64_t from = ends_[at++];
                if (!is_branch(one)) continue;
                const Branch branch{&one, from, starts_[one.target]};
                if (!branch.reaches(branch.to)) return branch;
            }
        return std::nullopt;
    }

    /// A block that is but a branch to where the far one goes.
    std::optional<uint32_t> relay_near(const Branch& far) const {
        for (uint32_t i = 0; i < function_.blocks.size(); ++i) {
            const std::vector<Instruction>& code = function_.blocks[i].code;
            if (code.size() == 1 && code[0].inst.row->mnemonic == "s_branch" &&
                code[0].target == far.instruction->target && far.helps(starts_[i]))
                return i;
        }
        return std::nullopt;
    }

    /// The place in the fewest loops where a relay helps; among these the farthest.
    std::optional<Gap> gap_near(const Branch& far) const {
        std::optional<Gap> best;
        int64_t best_at = 0;
        size_t index = 0;
        for (uint32_t i = 0; i < function_.blocks.size(); ++i) {
            const Block& block = function_.blocks[i];
            for (size_t count = 1; count <= block.code.size(); ++count) {
                const int64_t at = ends_[index++];
                if (!far.helps(at)) continue;
                const bool shallower = best && block.depth < function_.blocks[best->block].depth;
                const bool as_deep = best && block.depth == function_.blocks[best->block].depth;
                if (best && !shallower && !(as_deep && std::abs(at - far.from) > std::abs(best_at - far.from)))
                    continue;
                best = Gap{i, count};
                best_at = at;
            }
        }
        return best;
    }

    /// A branch to `target` in a gap; branches to `mark` go to it.
    void put(Gap gap, uint32_t target, uint32_t origin, uint32_t mark) {
        Block& block = function_.blocks[gap.block];
        const auto middle = block.code.begin() + static_cast<ptrdiff_t>(gap.count);
        Block rest{"", block.depth, {middle, block.code.end()}};
        block.code.erase(middle, block.code.end());
        const uint32_t relay = gap.block + 1, added = 1 + !rest.code.empty();
        const auto moved = [&](uint32_t at) { return at == mark ? relay : at > gap.block ? at + added : at; };
        for (Block& each : function_.blocks)
            for (Instruction& one : each.code)
                if (is_branch(one)) one.target = moved(one.target);
        for (Instruction& one : rest.code)
            if (is_branch(one)) one.target = moved(one.target);
        if (goes_on(block)) block.code.push_back(branch(function_, "s_branch", relay + 1, origin));
        std::vector<Block> blocks{{"", block.depth, {branch(function_, "s_branch", moved(target), origin)}}};
        if (!rest.code.empty()) blocks.push_back(std::move(rest));
        function_.blocks.insert(function_.blocks.begin() + relay, std::make_move_iterator(blocks.begin()),
                                std::make_move_iterator(blocks.end()));
    }

    static bool goes_on(const Block& block) {
        const std::string_view last = block.code.back().inst.row->mnemonic;
        return last != "s_branch" && last != "s_endpgm";
    }

    MachineFunction& function_;
    std::vector<int64_t> starts_;  ///< words in front of each block
    std::vector<int64_t> ends_;    ///< words up to the end of each instruction, of all blocks
};

}  // namespace

Result<void> relax_branches(MachineFunction& function) {
    size_t count = 0;
    for (const Block& block : function.blocks) count += block.code.size();
    return count * kLongestJump < kBranchReach ? Result<void>() : Relays(function).run();
}

}  // namespace strata::codegen
