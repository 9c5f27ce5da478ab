#include "strata/codegen/render/inline_plan_p.h"

#include <algorithm>

#include "strata/codegen/target/ldmatrix.h"
#include "strata/codegen/target/warpgroup_products.h"
#include "strata/core/uop/scopes.h"

namespace strata::codegen {
namespace {

using Form = InlinePlan::Form;

bool is_statement(UOp u) {
    return u.dtype().scalar == Scalar::none || u.is(Op::range) || u.is(Op::special) || u.is(Op::param) ||
           u.is(Op::define_var) || u.is(Op::foreign);
}
/// True if the source of that number is where a tile in local memory starts.
bool reads_tile(UOp u, size_t source) {
    if (is_ldmatrix(u)) return true;
    const auto product = warpgroup_product(u);
    return product && (source == 1 || (source == 0 && !product->holds_a()));
}
UOpMap<UOp> find_conditions(std::span<const UOp> ops) {
    UOpMap<int> breaks;
    for (UOp u : ops)
        if (u.is(Op::break_if)) ++breaks[u.src(1)];
    UOpMap<UOp> found;
    for (size_t i = 0; i + 1 < ops.size(); ++i) {
        const UOp range = ops[i], next = ops[i + 1];
        if (range.is(Op::range) && range_arg(range).size == 1 && range.src().empty() && next.is(Op::break_if) &&
            next.src(1) == range && breaks.at(range) == 1)
            found[range] = skip_after(next.src(0));
    }
    return found;
}
bool is_register(UOp memory) {
    const ParamArg& arg = memory.as<ParamArg>();
    return arg.space == Space::reg && arg.size == 1;
}

class Planner {
  public:
    Planner(std::span<const UOp> ops, const UOpMap<UOp>& conditions)
        : ops_(ops),
          conditions_(conditions),
          block_(ops.size()),
          uses_(ops.size()),
          consumer_(ops.size()),
          last_consumer_(ops.size()),
          tile_reads_(ops.size()) {
        for (size_t i = 0; i < ops.size(); ++i) place_[ops[i]] = i;
        find_blocks();
    }

    InlinePlan run() {
        InlinePlan plan{
            std::vector<Form>(ops_.size()), std::vector<size_t>(ops_.size()), std::vector<bool>(ops_.size()), {}, {}};
        for (size_t i = ops_.size(); i-- > 0;) {
            UOp u = ops_[i];
            plan.form[i] = form(i, plan);
            plan.statement[i] = plan.form[i] == Form::inlined && uses_[i] ? plan.statement[consumer_[i]] : i;
            const size_t sources = is_ldmatrix(u) ? 1 : u.src().size();  // it has one three times
            for (size_t k = 0; k < sources; ++k) use(u, i, k, plan);
        }
        return plan;
    }

  private:
    void find_blocks() {
        std::vector<size_t> open{0};
        for (size_t i = 0; i < ops_.size(); ++i) {
            UOp u = ops_[i];
            if (u.is(Op::end)) open.pop_back();
            // A condition is written around the block of its loop.
            const bool in_front = u.is(Op::break_if) && conditions_.contains(u.src(1));
            block_[i] = open[open.size() - (in_front ? 2 : 1)];
            if (u.is(Op::range)) open.push_back(i + 1);
            if (writes_memory(u)) stores_[memory_of(u)].push_back(i);
            if (u.is(Op::barrier) || u.is(Op::fence) || u.is(Op::wave_barrier) || u.is(Op::first_wave) ||
                u.is(Op::last_block) || u.is(Op::async_wait) || u.is(Op::schedule))
                barriers_.push_back(i);
        }
    }

    void use(UOp u, size_t i, size_t k, InlinePlan& plan) {
        auto found = place_.find(skip_after(u.src()[k]));
        if (found == place_.end()) return;
        size_t s = found->second;
        uses_[s] += u.is(Op::index) ? uses_[i] : 1;
        if (reads_tile(u, k) && block_[i] == block_[s]) ++tile_reads_[s];
        if (uses_[s] == 1) last_consumer_[s] = i;
        consumer_[s] = i;
        plan.addresses[s] = plan.addresses[s] || (u.is(Op::index) ? k > 0 : plan.addresses[i]);
    }

    Form form(size_t i, const InlinePlan& plan) const {
        UOp u = ops_[i];
        if (is_statement(u)) return Form::statement;
        if (u.is_const() || u.is(Op::index)) return Form::inlined;
        if (u.is(Op::shuffle_xor) || u.is(Op::shuffle) || u.is(Op::ballot) || u.is(Op::wmma))
            return Form::named;  // never under a predicate: all lanes take part
        if (u.is(Op::load) && is_register(memory_of(u)) && !changes_after(memory_of(u), i)) return Form::inlined;
        // A tile that matrix instructions read is an address.
        if (u.is(Op::load) && uses_[i] > 1 && tile_reads_[i] == uses_[i])
            return changes_between(memory_of(u), i, last_consumer_[i]) ? Form::named : Form::inlined;
        if (uses_[i] != 1) return Form::named;
        size_t target = plan.statement[consumer_[i]];
        if (block_[target] != block_[i]) return Form::named;
        return u.is(Op::load) && changes_between(memory_of(u), i, target) ? Form::named : Form::inlined;
    }

    bool changes_after(UOp memory, size_t i) const {
        auto found = stores_.find(memory);
        return found != stores_.end() && found->second.back() > i;
    }

    bool changes_between(UOp memory, size_t from, size_t to) const {
        auto inside = [&](size_t at) { return at > from && at < to; };
        auto found = stores_.find(memory);
        if (found == stores_.end()) return false;
        return std::any_of(found->second.begin(), found->second.end(), inside) ||
               std::any_of(barriers_.begin(), barriers_.end(), inside);
    }

    std::span<const UOp> ops_;
    const UOpMap<UOp>& conditions_;
    std::vector<size_t> block_, uses_, consumer_, last_consumer_, tile_reads_, barriers_;
    UOpMap<size_t> place_;
    UOpMap<std::vector<size_t>> stores_;
};

/// Stores at which a register can be declared: nothing touches it before, or after the loop that they stand in.
std::vector<bool> find_declarations(std::span<const UOp> ops) {
    struct Register {
        size_t first, last, loop_end;
    };
    std::vector<size_t> loop_end(ops.size()), open{ops.size()};
    for (size_t i = ops.size(); i-- > 0;) {
        if (ops[i].is(Op::range)) open.pop_back();
        loop_end[i] = open.back();
        if (ops[i].is(Op::end)) open.push_back(i);
    }
    UOpMap<Register> registers;
    for (size_t i = 0; i < ops.size(); ++i) {
        if (!ops[i].is(Op::load) && !ops[i].is(Op::store) && !ops[i].is(Op::atomic_add) && !ops[i].is(Op::atomic))
            continue;
        UOp memory = memory_of(ops[i]);
        if (is_register(memory)) registers.try_emplace(memory, Register{i, i, loop_end[i]}).first->second.last = i;
    }
    std::vector<bool> declares(ops.size());
    for (const auto& [_, r] : registers)
        declares[r.first] = ops[r.first].is(Op::store) && ops[r.first].src(0).src().size() == 2 && r.last < r.loop_end;
    return declares;
}

}  // namespace

InlinePlan plan_inlining(const LinearProgram& program, const Target& target) {
    const UOpMap<UOp> conditions = find_conditions(program.ops);
    InlinePlan plan = Planner(program.ops, conditions).run();
    const bool names_loads = program.places && target.arch.is_amd();
    for (size_t i = 0; names_loads && i < program.ops.size(); ++i)
        if (program.ops[i].is(Op::load)) plan.form[i] = InlinePlan::Form::named;
    plan.conditions = conditions;
    plan.declares = find_declarations(program.ops);
    return plan;
}

}  // namespace strata::codegen
