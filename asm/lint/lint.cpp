#include "strata/asm/lint/lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "strata/asm/lint/addresses_p.h"
#include "strata/asm/lint/code_p.h"
#include "strata/asm/lint/entry_p.h"
#include "strata/asm/lint/forms_p.h"
#include "strata/asm/lint/hazards.h"
#include "strata/asm/lint/waits.h"
#include "strata/asm/object/features.h"
#include "strata/core/support/interrupt.h"

namespace strata::lint {
namespace {

/// Where firmware begins that loads arguments (AMDGPUUsage, "Preloaded Kernel Arguments").
constexpr uint64_t kPreloadBytes = 256;

/// Facts known of a wave at a place of the code, by all paths that lead there.
struct State {
    Outstanding outstanding;
    Recent recent;
    Written written;
    std::optional<uint64_t> function =
        {};                ///< that the kernel called and the code belongs to, by its first instruction
    bool guessed = false;  ///< the kernel may never come here: nobody knows where some call goes

    bool join(const State& other) {
        const Written all = written | other.written;
        const auto both = function == other.function ? function : std::nullopt;
        bool changed = outstanding.join(other.outstanding);
        changed = recent.join(other.recent) || changed;
        changed = changed || all != written || both != function || (guessed && !other.guessed);
        written = all;
        function = both;
        guessed = guessed && other.guessed;
        return changed;
    }
};

/// A kernel's code as blocks, each with the state in which it is entered.
class Linter {
  public:
    Linter(const isa::CodeObject& object, const isa::KernelInfo& kernel, const isa::Segment& text)
        : object_(object),
          kernel_(kernel),
          text_(text),
          wave_size_(kernel.descriptor.wave_size(isa::info(object.arch))),
          code_(object.arch, wave_size_, text),
          entry_(isa::info(object.arch), kernel, wave_size_) {}

    Result<std::vector<Finding>> run() {
        const uint64_t start = kernel_.entry_address - text_.address;
        State state = fresh();
        enter(start, state);
        if (isa::is_cdna(isa::info(object_.arch).family) && kernel_.descriptor.kernarg_preload & 127)
            enter(start + kPreloadBytes, state);
        if (auto found = find_blocks(start); !found) return found.error();
        while (!open_.empty()) {
            poll_interrupt();
            const uint64_t pc = *open_.begin();
            open_.erase(open_.begin());
            Findings ignored;
            walk(pc, ignored, true);
        }
        Findings found;
        for (const auto& [pc, ignored] : states_) walk(pc, found, false);
        return found.sorted();
    }

  private:
    Recent nothing_near() const { return recent_for(object_.arch, wave_size_, isa::faults_replay(object_)); }
    State fresh() const { return {Outstanding(object_.arch), nothing_near(), entry_.written()}; }

    /// After a call, or in the function: all is waited for, and registers have values.
    State across_call(const State& state, const Recent& recent) const {
        State next = fresh();
        next.recent = recent;
        next.written.set();
        next.function = state.function;
        next.guessed = state.guessed;
        return next;
    }

    void enter(uint64_t pc, const State& state) {
        const auto [at, fresh] = states_.try_emplace(pc, state);
        if (fresh || at->second.join(state)) open_.insert(pc);
    }

    /// The places that control can come to other than from the instruction before, and where jumps by registers go.
    Result<void> find_blocks(uint64_t start) {
        struct Way {
            uint64_t pc;
            Addresses addresses;
        };
        std::vector<Way> open{{start, {}}};
        for (const auto& [pc, state] : states_) open.push_back({pc, {}});
        bool guesses = false;
        std::set<uint64_t> seen;
        while (!open.empty()) {
            auto [pc, addresses] = std::move(open.back());
            open.pop_back();
            leaders_.insert(pc);
            while (code_.holds(pc) && seen.insert(pc).second) {
                const auto line = code_.at(pc);
                if (!line) return line.error();
                const isa::Inst& inst = (*line)->inst;
                if (is_jump_by_register(inst))
                    if (const auto target = addresses.target(inst)) targets_[pc] = *target;
                addresses.step({pc, &inst, &(*line)->access});
                const Flow flow = flow_at(inst, pc);
                if (flow.target) open.push_back({*flow.target, flow.calls ? Addresses() : addresses});
                if (flow.calls && !flow.target && !guesses) {
                    guesses = true;
                    for (uint64_t function : functions()) open.push_back({function, {}});
                }
                if (!flow.falls) break;
                pc += inst.size;
                if (is_end(pc)) break;
                if (flow.target || flow.calls) leaders_.insert(pc);
            }
        }
        return {};
    }

    static bool is_jump_by_register(const isa::Inst& inst) {
        return inst.row->mnemonic == "s_swappc_b64" || inst.row->mnemonic == "s_setpc_b64";
    }
    Flow flow_at(const isa::Inst& inst, uint64_t pc) const {
        Flow flow = flow_of(inst, pc);
        if (const auto known = targets_.find(pc); known != targets_.end()) flow.target = known->second;
        return flow;
    }

    /// Functions that a call may go to.
    std::vector<uint64_t> functions() {
        std::vector<uint64_t> all;
        State state = across_call(fresh(), nothing_near());
        state.guessed = true;
        for (const isa::Symbol& symbol : object_.symbols) {
            const bool kernel = std::ranges::any_of(
                object_.kernels, [&](const isa::KernelInfo& k) { return k.entry_address == symbol.address; });
            if (!symbol.is_function || kernel || object_.code_at(symbol.address) != &text_) continue;
            all.push_back(symbol.address - text_.address);
            enter(all.back(), state);
        }
        return all;
    }

    /// Runs a block from its state; what it leaves goes to the blocks after it.
    void walk(uint64_t pc, Findings& found, bool propagate) {
        State state = states_.at(pc);
        uint64_t last = pc;
        for (bool first = true;; first = false) {
            if (!code_.holds(pc)) return report_end(last, found);
            if (!first && leaders_.contains(pc)) {
                if (propagate) enter(pc, state);
                return;
            }
            const auto line = code_.at(pc);
            if (!line) return;
            const isa::Inst& inst = (*line)->inst;
            step(state, {pc, &inst, &(*line)->access}, found);
            const Flow flow = flow_at(inst, pc);
            const uint64_t next = pc + inst.size;
            if (flow.target && !code_.holds(*flow.target))
                report_end(pc, found);
            else if (propagate && flow.calls)
                call(flow.target, next, state);
            else if (propagate && flow.target)
                enter(*flow.target, state);
            else if (propagate && inst.row->mnemonic == "s_setpc_b64" && state.function)
                leave(*state.function, state.recent);
            if (!flow.falls) return;
            last = pc;
            pc = next;
            if (is_end(pc)) return report_end(last, found);
            if (flow.calls) return;  // what follows it is a block of its own
        }
    }

    /// Traces of the caller reach the function's first instructions, and the function's those after the call.
    void call(std::optional<uint64_t> target, uint64_t next, const State& state) {
        State after_call = across_call(state, nothing_near());
        if (target) {
            State inside = across_call(state, state.recent);
            inside.function = *target;
            enter(*target, inside);
            Function& function = called_.try_emplace(*target, Function{nothing_near(), {}}).first->second;
            after_call.recent = function.left;
            const auto [at, fresh] = function.after_call.try_emplace(next, after_call);
            if (!fresh) at->second.join(after_call);
        }
        enter(next, after_call);
    }

    void leave(uint64_t function, const Recent& recent) {
        Function& left = called_.at(function);
        if (!left.left.join(recent)) return;
        for (auto& [next, after_call] : left.after_call) {
            after_call.recent = left.left;
            enter(next, after_call);
        }
    }

    void step(State& state, const Step& step, Findings& found) {
        if (!state.guessed) entry_.check_ranges(step, found);
        entry_.check_written(step, state.written, found);
        check_dual(object_.arch, step, found);
        check_clause(code_, step, found);
        state.outstanding.step(step, found);
        state.recent.step(step, found);
        Entry::add(step, state.written);
    }

    /// True if what comes next is no longer of this code: another kernel, what lies after a function, padding.
    bool is_end(uint64_t pc) {
        const uint64_t address = text_.address + pc;
        if (leaders_.contains(pc)) return false;
        const auto begins = [&](const isa::KernelInfo& kernel) { return kernel.entry_address == address; };
        const auto ends = [&](const isa::Symbol& symbol) {
            return symbol.is_function && symbol.size && symbol.address + symbol.size == address;
        };
        return std::ranges::any_of(object_.kernels, begins) || std::ranges::any_of(object_.symbols, ends);
    }

    void report_end(uint64_t pc, Findings& found) const {
        if (found.again(Kind::end_of_code, pc)) return;
        found.add({.kind = Kind::end_of_code,
                   .pc = pc,
                   .what = "the code goes on past its last instruction",
                   .fix = "s_endpgm after this"});
    }

    const isa::CodeObject& object_;
    const isa::KernelInfo& kernel_;
    const isa::Segment& text_;
    int wave_size_;
    Code code_;
    Entry entry_;
    std::set<uint64_t> leaders_, open_;
    std::map<uint64_t, State> states_;
    std::map<uint64_t, uint64_t> targets_;  ///< of jumps by registers, as far as they are known
    /// Traces that a function leaves near, and the places after its calls.
    struct Function {
        Recent left;
        std::map<uint64_t, State> after_call;
    };
    std::map<uint64_t, Function> called_;
};

}  // namespace

Result<std::vector<Finding>> lint(const isa::CodeObject& object, std::string_view kernel) {
    STRATA_TRY(const isa::KernelInfo* const info, object.kernel(kernel));
    const isa::Segment* const text = object.code_at(info->entry_address);
    if (!text) return make_error(ErrorKind::Unsupported, "kernel '{}' begins outside of the code", kernel);
    return Linter(object, *info, *text).run();
}

}  // namespace strata::lint
