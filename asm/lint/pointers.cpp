#include "strata/asm/lint/pointers.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "strata/asm/lint/addresses_p.h"
#include "strata/asm/lint/code_p.h"
#include "strata/core/support/interrupt.h"

// Forward data flow: which argument the pointer in a register comes from.
namespace strata::lint {
namespace {

/// Origin of a register's value. Above kFirst: the pointer in an argument, by its place, or a value computed from it.
using Origin = uint8_t;
constexpr Origin kUnknown = 0;  ///< no path comes here yet
constexpr Origin kPlain = 1;    ///< no argument's pointer
constexpr Origin kKernarg = 2;  ///< the address of the arguments, unchanged
constexpr Origin kFirst = 3, kSeveral = 255;

/// The origin where paths meet.
Origin either(Origin a, Origin b) { return a == b || !b ? a : !a ? b : kSeveral; }
/// The origin of a sum: a pointer and an offset are that pointer.
Origin both(Origin a, Origin b) {
    if (a <= kPlain || a == b) return std::max(a, b);
    return b <= kPlain ? a : kSeveral;
}

struct State {
    static constexpr size_t kRegisters = isa::code::agpr0 + 256;
    std::array<Origin, kRegisters> active{};  ///< in the lanes that EXEC has
    std::array<Origin, kRegisters> others{};  ///< in lanes that it may get back

    bool join(const State& other) {
        bool changed = false;
        for (auto [mine, theirs] : {std::pair(&active, &other.active), std::pair(&others, &other.others)})
            for (size_t i = 0; i < kRegisters; ++i)
                changed |= std::exchange((*mine)[i], either((*mine)[i], (*theirs)[i])) != (*mine)[i];
        return changed;
    }
    void lose() {
        active.fill(kSeveral);
        others.fill(kSeveral);
    }
    /// Lanes go, or may come back.
    void narrow() {
        for (size_t i = kVectors; i < kRegisters; ++i) others[i] = either(others[i], active[i]);
    }
    void widen() {
        narrow();
        std::copy(others.begin() + kVectors, others.end(), active.begin() + kVectors);
    }
};

constexpr uint64_t kPreloadBytes = 256;  // code that loads arguments which firmware may have loaded

/// True if what writes EXEC leaves lanes of it out, and gives none back.
bool only_takes_lanes(const isa::Inst& inst) {
    const std::string_view name = inst.row->mnemonic;
    const auto is_exec = [&](size_t i) { return inst.src[i].code == isa::code::exec_lo; };
    if (name.starts_with("s_and_saveexec") || name.starts_with("v_cmpx")) return true;
    if (name.starts_with("s_and_b")) return is_exec(0) || is_exec(1);
    return (name.starts_with("s_andn2_b") || name.starts_with("s_and_not1_b")) && is_exec(0);
}

class Tracer {
  public:
    Tracer(const isa::CodeObject& object, const isa::KernelInfo& kernel, const isa::Segment& text)
        : kernel_(kernel),
          arch_(isa::info(object.arch)),
          code_(object.arch, kernel.descriptor.wave_size(arch_), text),
          start_(kernel.entry_address - text.address) {}

    PointerUses run() {
        std::vector<uint64_t> starts{start_};
        if (preloaded()) starts.push_back(start_ + kPreloadBytes);
        for (const uint64_t start : starts)
            if (!find_blocks(start)) return {};
        for (const uint64_t start : starts) enter(start, at_start());
        while (!open_.empty()) {
            poll_interrupt();
            const uint64_t pc = *open_.begin();
            open_.erase(open_.begin());
            walk(pc);
        }
        PointerUses out;
        for (const auto& [pc, origin] : found_) {
            if (origin < kFirst || origin == kSeveral) continue;
            const uint32_t flags = (*code_.at(pc))->inst.row->flags;
            const bool atomic = flags & isa::kAtomic, stores = flags & isa::kStore;
            out[pc] = {static_cast<uint16_t>(origin - kFirst), atomic || !stores, atomic || stores};
        }
        return out;
    }

  private:
    size_t preloaded() const { return isa::is_cdna(arch_.family) ? kernel_.descriptor.kernarg_preload & 127 : 0; }

    /// The origin of a dword of the arguments.
    Origin argument_at(uint64_t offset) const {
        for (size_t i = 0; i < kernel_.args.size(); ++i) {
            const isa::KernelArg& arg = kernel_.args[i];
            if (offset < arg.offset || offset >= uint64_t{arg.offset} + arg.size) continue;
            if (arg.value_kind != "global_buffer") return kPlain;
            return i < size_t{kSeveral} - kFirst ? static_cast<Origin>(kFirst + i) : kSeveral;
        }
        return kPlain;
    }

    /// AMDGPUUsage, "Initial Kernel Execution State".
    State at_start() const {
        const isa::KernelDescriptor& given = kernel_.descriptor;
        State state;
        state.active.fill(kPlain);
        size_t next = 4 * given.private_segment_buffer() + 2 * given.dispatch_ptr() + 2 * given.queue_ptr();
        if (given.kernarg_ptr()) state.active[next] = state.active[next + 1] = kKernarg;
        next += 2 * given.kernarg_ptr() + 2 * given.dispatch_id() + 2 * given.flat_scratch_init() +
                given.private_segment_size();
        const uint64_t first = uint64_t{4} * (given.kernarg_preload >> 7);
        for (size_t i = 0; i < preloaded(); ++i) state.active[next + i] = argument_at(first + 4 * i);
        return state;
    }

    Flow flow_at(const isa::Inst& inst, uint64_t pc) const {
        Flow flow = flow_of(inst, pc);
        if (const auto known = targets_.find(pc); known != targets_.end()) flow.target = known->second;
        return flow;
    }

    /// False where nobody knows where the code goes, or what an instruction touches.
    bool find_blocks(uint64_t start) {
        std::vector<std::pair<uint64_t, Addresses>> open{{start, {}}};
        while (!open.empty()) {
            auto [pc, addresses] = std::move(open.back());
            open.pop_back();
            leaders_.insert(pc);
            while (seen_.insert(pc).second) {
                const auto line = code_.holds(pc) ? code_.at(pc) : make_error(ErrorKind::Unsupported, "no code");
                if (!line) return false;
                const isa::Inst& inst = (*line)->inst;
                const std::string_view name = inst.row->mnemonic;
                if (name.starts_with("s_set_gpr_idx")) return false;
                if (name == "s_setpc_b64") {
                    const auto target = addresses.target(inst);
                    if (!target) return false;
                    targets_[pc] = *target;
                }
                addresses.step({pc, &inst, &(*line)->access});
                const Flow flow = flow_at(inst, pc);
                if (flow.target && !flow.calls) open.emplace_back(*flow.target, addresses);
                if (!flow.falls) break;
                pc += inst.size;
                if (flow.target || flow.calls) leaders_.insert(pc);
            }
        }
        return true;
    }

    void enter(uint64_t pc, const State& state) {
        const auto [at, fresh] = states_.try_emplace(pc, state);
        if (fresh || at->second.join(state)) open_.insert(pc);
    }

    void walk(uint64_t pc) {
        State state = states_.at(pc);
        for (bool first = true;; first = false) {
            if (!first && leaders_.contains(pc)) return enter(pc, state);
            const Code::Line& line = **code_.at(pc);
            step(state, pc, line);
            const Flow flow = flow_at(line.inst, pc);
            if (flow.calls) state.lose();
            if (flow.target && !flow.calls) enter(*flow.target, state);
            if (!flow.falls) return;
            pc += line.inst.size;
        }
    }

    static Origin of(const State& state, const Read& read, bool across) {
        Origin all = kUnknown;
        for (size_t i = read.registers.first; i < size_t{read.registers.first} + read.registers.count; ++i) {
            if (i >= State::kRegisters) return kSeveral;
            const Origin one = across && i >= kVectors ? either(state.active[i], state.others[i]) : state.active[i];
            all = both(all, one);
        }
        return all;
    }

    void step(State& state, uint64_t pc, const Code::Line& line) {
        if (line.inst.row->flags & isa::kMemory) {
            const Origin address = address_of(state, line);
            found_[pc] = either(found_[pc], std::max(address, kPlain));
            load(state, line, address);
        } else {
            compute(state, line);
        }
        change_lanes(state, line);
    }

    static Origin address_of(const State& state, const Code::Line& line) {
        Origin address = kUnknown;
        for (const Read& read : line.access.all_reads())
            if (read.use == Use::address && read.registers.first != isa::code::m0)
                address = both(address, of(state, read, false));
        return address;
    }

    void load(State& state, const Code::Line& line, Origin address) const {
        const isa::Inst& inst = line.inst;
        const bool plain = inst.src[1].code == isa::code::null || !inst.src[1].present();
        for (const Write& write : line.access.all_writes())
            for (uint16_t i = 0; i < write.registers.count; ++i) {
                Origin value = kPlain;
                if (address == kKernarg)
                    value = inst.row->format == isa::Format::SMEM && plain
                                ? argument_at(static_cast<uint64_t>(static_cast<int64_t>(inst.offset)) + 4u * i)
                                : kSeveral;
                set(state, write, i, value);
            }
    }

    /// The origin of a value computed of the sources of one half of an instruction; Y: of a dual one.
    static Origin value_of(const State& state, const Code::Line& line, bool dual, bool second) {
        Origin computed = kUnknown, chosen = kUnknown;
        bool across = line.inst.dpp.kind != isa::DppKind::none;
        for (const Read& read : line.access.all_reads()) {
            if (read.use == Use::mask || read.use == Use::control) continue;
            if (dual && read.source >= 0 && (read.source >= 4) != second) continue;
            const Origin value = of(state, read, read.every_lane || across);
            if (read.use == Use::copied || read.use == Use::kept)
                chosen = either(chosen, value);
            else
                computed = both(computed, value);
        }
        // The arguments' address with an offset is no longer where arguments are looked for.
        if (computed == kKernarg) computed = kSeveral;
        // A choice with a constant.
        if (chosen != kUnknown && chooses(line.inst, second)) chosen = either(chosen, kPlain);
        return std::max(computed == kUnknown ? chosen : either(chosen, computed), kPlain);
    }
    /// True if one of two sources that are handed on is no register.
    static bool chooses(const isa::Inst& inst, bool second) {
        const std::string_view name = (second ? inst.row_y : inst.row)->mnemonic;
        if (name.find("cndmask") == name.npos && name.find("cselect") == name.npos && !name.starts_with("s_cmov"))
            return false;
        const auto is_register = [](const isa::Operand& o) { return o.is_vector() || o.is_sgpr(); };
        return second ? !is_register(inst.src_y[0]) || !is_register(inst.src_y[1])
                      : !is_register(inst.src[0]) || !is_register(inst.src[1]);
    }

    static void compute(State& state, const Code::Line& line) {
        const bool dual = line.inst.row_y != nullptr;
        const Origin first = value_of(state, line, dual, false),
                     second = dual ? value_of(state, line, dual, true) : first;
        if (line.access.indexed) {
            for (size_t i = kVectors; i < State::kRegisters; ++i) state.active[i] = either(state.active[i], first);
        }
        for (const Write& write : line.access.all_writes()) {
            const bool of_y = dual && write.registers.first == line.inst.dst_y.code;
            for (uint16_t i = 0; i < write.registers.count; ++i) set(state, write, i, of_y ? second : first);
        }
    }

    static void set(State& state, const Write& write, uint16_t i, Origin value) {
        const size_t at = size_t{write.registers.first} + i;
        if (at >= State::kRegisters) return;
        state.active[at] = write.partly || write.every_lane ? either(state.active[at], value) : value;
        if (write.every_lane) state.others[at] = either(state.others[at], value);
    }

    static void change_lanes(State& state, const Code::Line& line) {
        const auto is_exec = [](const Write& write) { return (write.registers.first | 1) == isa::code::exec_hi; };
        if (!std::ranges::any_of(line.access.all_writes(), is_exec)) return;
        if (only_takes_lanes(line.inst))
            state.narrow();
        else
            state.widen();
    }

    const isa::KernelInfo& kernel_;
    const isa::ArchInfo& arch_;
    Code code_;
    uint64_t start_;
    std::set<uint64_t> leaders_, open_, seen_;
    std::map<uint64_t, uint64_t> targets_;  ///< of jumps by registers
    std::map<uint64_t, State> states_;
    std::unordered_map<uint64_t, Origin> found_;
};

}  // namespace

PointerUses pointers_of(const isa::CodeObject& object, const isa::KernelInfo& kernel) {
    const isa::Segment* const text = object.code_at(kernel.entry_address);
    if (!text) return {};
    return Tracer(object, kernel, *text).run();
}

}  // namespace strata::lint
