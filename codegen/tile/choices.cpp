// choices: registers that have two names, one of which a condition decides. Both names are memory of their own, so what
// is stored by one name must not be read by the other.
#include <algorithm>
#include <iterator>

#include "strata/codegen/tile/trace.h"
#include "strata/core/support/error.h"
#include "strata/core/uop/kernel.h"

namespace strata::lang {

bool Trace::Choice::Side::has(UOp memory) const { return std::ranges::find(memories, memory) != memories.end(); }

/// Memories that one of the others stands for, and those that stand for one of them, are others too.
void Trace::choose(UOp chosen, UOp first, UOp second, int line) {
    Choice::Side others{{first, second}};
    for (const bool by_chosen : {true, false})
        for (const Choice& known : state_.choices) {
            const Choice::Side& own = by_chosen ? known.chosen : known.others;
            const Choice::Side& other = by_chosen ? known.others : known.chosen;
            if (std::ranges::any_of(own.memories, [&](UOp memory) { return others.has(memory); }))
                std::ranges::copy_if(other.memories, std::back_inserter(others.memories),
                                     [&](UOp memory) { return !others.has(memory); });
        }
    state_.choices.push_back({{{chosen}}, std::move(others), line, state_.scopes.size()});
}

void Trace::note_access(UOp memory, bool writes) {
    if (state_.choices.empty() || memory == renewed_) return;
    for (Choice& choice : state_.choices)
        for (const bool is_chosen : {true, false}) {
            Choice::Side& own = is_chosen ? choice.chosen : choice.others;
            const Choice::Side& other = is_chosen ? choice.others : choice.chosen;
            if (!own.has(memory)) continue;
            // A loop that began later reads again what it read before, in its next step.
            const UOp loop = choice.depth < state_.scopes.size() ? state_.scopes[choice.depth].range : UOp();
            if (writes ? loop && other.read_in == loop : other.changed)
                user_error(
                    ErrorKind::Usage,
                    "line {} takes registers by a decision of the kernel, and gives them a second name. One name "
                    "is assigned to afterwards and the other is read, which would miss that. Take a copy in "
                    "line {}, as in v.load(), or assign before it",
                    choice.line, choice.line);
            if (writes)
                own.changed = true;
            else
                own.read_in = loop;
        }
}

void Trace::renew(UOp memory, const std::function<void()>& stores) {
    renewed_ = memory;
    try {
        stores();
    } catch (...) {
        renewed_ = UOp();
        throw;
    }
    renewed_ = UOp();
    std::erase_if(state_.choices, [&](const Choice& choice) { return choice.others.has(memory); });
}

UOp Trace::registers_before_loop(int64_t size, DType type) {
    const UOp memory = registers(size, type);
    const size_t outside = state_.scopes.size() - 2;
    STRATA_CHECK(state_.scopes.size() > 1, "registers before a loop, and none is open");
    made_under_[memory] = state_.scopes.back().predicate;
    memory_in(memory, outside);
    Scope& scope = state_.scopes[outside];
    Memory& state = scope.memories.at(memory);
    for (int64_t i = 0; i < size; ++i) {
        const UOp offset = index_const(i);
        const UOp stored = uop::store(uop::at(uop::after(memory, state.base), offset), constant(type, 0));
        state.writes.push_back({offset, stored, 1});
        scope.effects.push_back(stored);
    }
    return memory;
}

}  // namespace strata::lang
