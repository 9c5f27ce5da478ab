#include "strata/asm/lint/lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "strata/asm/lint/code_p.h"
#include "strata/asm/lint/entry_p.h"
#include "strata/asm/lint/forms_p.h"
#include "strata/asm/lint/hazards.h"
#include "strata/asm/lint/waits.h"
#include "strata/core/support/interrupt.h"

namespace strata::lint {
namespace {

/// Where firmware begins that loads arguments (AMDGPUUsage, "Preloaded Kernel Arguments").
constexpr uint64_t kPreloadBytes = 256;

/// What is known of a wave at a place of the code, by all paths that lead there.
struct State {
    Outstanding outstanding;
    Recent recent;
    Written written;

    bool join(const State& other) {
        const Written before = written;
        written |= other.written;
        bool changed = outstanding.join(other.outstanding);
        changed = recent.join(other.recent) || changed;
        return changed || written != before;
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
    State fresh() const { return {Outstanding(object_.arch), recent_for(object_.arch, wave_size_), entry_.written()}; }

    void enter(uint64_t pc, const State& state) {
        const auto [at, fresh] = states_.try_emplace(pc, state);
        if (fresh || at->second.join(state)) open_.insert(pc);
    }

    /// The places that control can come to other than from the instruction before.
    Result<void> find_blocks(uint64_t start) {
        std::vector<uint64_t> open{start};
        for (const auto& [pc, state] : states_) open.push_back(pc);
        bool calls = false;
        std::set<uint64_t> seen;
        while (!open.empty()) {
            uint64_t pc = open.back();
            open.pop_back();
            leaders_.insert(pc);
            while (code_.holds(pc) && seen.insert(pc).second) {
                const auto line = code_.at(pc);
                if (!line) return line.error();
                const Flow flow = flow_of((*line)->inst, pc);
                if (flow.target) open.push_back(*flow.target);
                if (flow.calls && !flow.target && !calls) {
                    calls = true;
                    for (uint64_t function : functions()) open.push_back(function);
                }
                if (!flow.falls) break;
                pc += (*line)->inst.size;
                if (is_end(pc)) break;
                if (flow.target || flow.calls) leaders_.insert(pc);
            }
        }
        return {};
    }

    /// Functions that a call may go to; registers have their values there.
    std::vector<uint64_t> functions() {
        std::vector<uint64_t> all;
        State state = fresh();
        state.written.set();
        for (const isa::Symbol& symbol : object_.symbols) {
            const bool kernel = std::ranges::any_of(
                object_.kernels, [&](const isa::KernelInfo& k) { return k.entry_address == symbol.address; });
            if (!symbol.is_function || kernel || object_.code_at(symbol.address) != &text_) continue;
            all.push_back(symbol.address - text_.address);
            enter(all.back(), state);
        }
        return all;
    }

    /// Runs a block from its state; what it leaves goes to the blocks behind it.
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
            const Flow flow = flow_of(inst, pc);
            if (flow.target && !code_.holds(*flow.target))
                report_end(pc, found);
            else if (propagate && flow.target)
                enter(*flow.target, state);
            if (!flow.falls) return;
            if (flow.calls) {
                state = fresh();
                state.written.set();
            }
            last = pc;
            pc += inst.size;
            if (is_end(pc)) return report_end(last, found);
        }
    }

    void step(State& state, const Step& step, Findings& found) {
        entry_.check(step, state.written, found);
        check_dual(object_.arch, step, found);
        check_clause(code_, step, found);
        state.outstanding.step(step, found);
        state.recent.step(step, found);
        Entry::add(step, state.written);
    }

    /// Whether what comes next is no longer of this code: another kernel, what lies behind a function, padding.
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
                   .what = "the code goes on behind its last instruction",
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
};

}  // namespace

Result<std::vector<Finding>> lint(const isa::CodeObject& object, std::string_view kernel) {
    STRATA_TRY(const isa::KernelInfo* const info, object.kernel(kernel));
    const isa::Segment* const text = object.code_at(info->entry_address);
    if (!text) return make_error(ErrorKind::Unsupported, "kernel '{}' begins outside of the code", kernel);
    return Linter(object, *info, *text).run();
}

}  // namespace strata::lint
