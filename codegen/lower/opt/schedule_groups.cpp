// Groups of a scheduling barrier, lang.sched_group_barrier. Each takes the next instructions of its kinds, and comes
// after the groups before, where what they depend on lets it.
// Before   ds_load a; ds_load b; v_mfma x, a; v_mfma y, b; groups 1 lds_read, 1 matrix, 1 lds_read, 1 matrix
// After    ds_load a; v_mfma x, a; ds_load b; v_mfma y, b
#include "strata/codegen/lower/opt/schedule_groups_p.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>

#include "strata/codegen/machine/dependencies.h"

namespace strata::codegen {
namespace {

class Grouping {
  public:
    Grouping(const MachineFunction& function, Block& block, uint32_t count, std::span<const Dependency> dependencies)
        : function_(function), block_(block), count_(count), after_(count), group_of_(count) {
        for (const Dependency& d : dependencies) after_[d.from].push_back(d.to);
    }

    void run() {
        std::map<uint16_t, std::vector<uint32_t>> barriers;  // by the number of their sequence
        for (uint32_t i = 0; i < count_; ++i)
            if (is_group(block_.code[i])) barriers[block_.code[i].group].push_back(i);
        for (const auto& [_, places] : barriers) form(places);
        reorder();
    }

    static bool is_group(const Instruction& instruction) { return instruction.passes >= 0 && instruction.group_size; }

  private:
    void form(std::span<const uint32_t> places) {
        std::vector<uint32_t> before;
        for (const uint32_t at : places) {
            std::vector<uint32_t> members;
            const Instruction& wanted = block_.code[at];
            for (uint32_t i = begin_of(at); i < count_ && members.size() < wanted.group_size; ++i) {
                const Instruction& one = block_.code[i];
                if (i > at && is_boundary(one)) break;
                if (one.passes < 0 && !group_of_[i] && schedule_classes(function_, one) & wanted.passes)
                    members.push_back(i);
            }
            if (members.empty()) continue;
            const uint16_t number = ++groups_;
            for (const uint32_t i : members) group_of_[i] = number;
            for (const uint32_t a : before)
                for (const uint32_t b : members)
                    if (!leads_to(b, a)) after_[a].push_back(b);
            before = std::move(members);
        }
        ++groups_;  // no order with the next sequence
    }

    /// Groups reach from barrier to barrier: of the workgroup, or of the author's that nothing may pass.
    static bool is_boundary(const Instruction& one) {
        if (one.passes >= 0) return one.passes == 0 && !one.group_size;
        return one.pseudo == Pseudo::none && one.inst.row->mnemonic.starts_with("s_barrier");
    }
    uint32_t begin_of(uint32_t at) const {
        while (at > 0 && !is_boundary(block_.code[at - 1])) --at;
        return at;
    }

    bool leads_to(uint32_t from, uint32_t to) const {
        std::vector<bool> seen(count_);
        std::vector<uint32_t> open{from};
        while (!open.empty()) {
            const uint32_t i = open.back();
            open.pop_back();
            if (i == to) return true;
            for (const uint32_t next : after_[i])
                if (!seen[next]) seen[next] = true, open.push_back(next);
        }
        return false;
    }

    /// The first instruction of the old order whose dependencies are met comes next. The barriers go.
    void reorder() {
        std::vector<uint32_t> waiting(count_);
        for (const std::vector<uint32_t>& all : after_)
            for (const uint32_t i : all) ++waiting[i];
        std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
        for (uint32_t i = 0; i < count_; ++i)
            if (!waiting[i]) ready.push(i);
        std::vector<Instruction> code;
        while (!ready.empty()) {
            const uint32_t i = ready.top();
            ready.pop();
            for (const uint32_t next : after_[i])
                if (--waiting[next] == 0) ready.push(next);
            if (is_group(block_.code[i])) continue;
            code.push_back(std::move(block_.code[i]));
            if (code.back().passes < 0) code.back().group = group_of_[i];
        }
        for (size_t i = count_; i < block_.code.size(); ++i) code.push_back(std::move(block_.code[i]));
        block_.code = std::move(code);
    }

    const MachineFunction& function_;
    Block& block_;
    uint32_t count_;
    std::vector<std::vector<uint32_t>> after_;  ///< by instruction: those that come after it
    std::vector<uint16_t> group_of_;
    uint16_t groups_ = 0;
};

}  // namespace

void form_schedule_groups(MachineFunction& function, const std::function<uint32_t(const Block&)>& movable) {
    const auto has_groups = [](const Block& block) { return std::ranges::any_of(block.code, Grouping::is_group); };
    if (std::ranges::none_of(function.blocks, has_groups)) return;
    const Liveness live(function);
    Dependencies dependencies(function, live);
    for (Block& block : function.blocks) {
        if (!has_groups(block)) continue;
        const uint32_t count = movable(block);
        Grouping(function, block, count, dependencies.of(block, count)).run();
    }
}

}  // namespace strata::codegen
