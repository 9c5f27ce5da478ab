#include "strata/asm/lint/hazards.h"

#include <fmt/format.h>

#include <bit>

#include "strata/asm/lint/hazards_p.h"

namespace strata::lint {
namespace {

using isa::Format;
namespace code = isa::code;

constexpr uint8_t kLong = 254;  // counters stay here

size_t first_of(uint64_t rules) { return static_cast<size_t>(std::countr_zero(rules)); }

/// The rules of which `is` says so.
template <class Is>
constexpr uint64_t rules_that(Is is) {
    uint64_t rules = 0;
    for (size_t i = 0; i < kHazards.size(); ++i) rules |= uint64_t{is(kHazards[i])} << i;
    return rules;
}
constexpr auto kLeft = [] {
    std::array<uint64_t, static_cast<size_t>(Leaves::itself) + 1> rules{};
    for (size_t left = 0; left < rules.size(); ++left)
        rules[left] = rules_that([&](const Hazard& row) { return row.leaves == Leaves(left); });
    return rules;
}();
constexpr auto kEndedBy = [] {
    std::array<uint64_t, 6> rules{};
    for (size_t event = 0; event < rules.size(); ++event)
        rules[event] = rules_that([&](const Hazard& row) { return (row.ended >> event & 1) != 0; });
    return rules;
}();

/// The rules whose producers leave such things.
constexpr uint64_t left_as(Leaves leaves) { return kLeft[static_cast<size_t>(leaves)]; }

bool is_exec(const Registers& registers) { return (registers.first | 1) == code::exec_hi; }
bool is_vcc(const Registers& registers) { return (registers.first | 1) == code::vcc_hi; }

bool lies_in(const Registers& registers, Where where) {
    switch (where) {
        case Where::vectors: return is_vector(registers);
        case Where::scalars: return registers.first < kScc;
        case Where::masks: return is_vcc(registers) || is_exec(registers);
        case Where::vcc: return is_vcc(registers);
        case Where::exec: return is_exec(registers);
        case Where::m0: return registers.first == code::m0;
        case Where::none: break;
    }
    return true;
}

void add(uint8_t& counter, int ticks) { counter = static_cast<uint8_t>(std::min<int>(kLong, counter + ticks)); }

bool is_operand(const Read& read) { return read.source >= 0 || !is_exec(read.registers); }

template <class Uses>
bool reads(const Access& access, const Registers& registers, Uses uses) {
    return std::ranges::any_of(access.all_reads(), [&](const Read& read) {
        return is_operand(read) && uses(read.use) && read.registers.overlaps(registers);
    });
}
bool reads(const Access& access, const Registers& registers) {
    return reads(access, registers, [](Use) { return true; });
}
bool writes(const Access& access, const Registers& registers) {
    return std::ranges::any_of(access.all_writes(),
                               [&](const Write& write) { return write.registers.overlaps(registers); });
}

/// The matrix that a product adds to: its destination where it reads that, else the third source.
Registers summand(const Access& access) {
    Registers third;
    for (const Read& read : access.all_reads()) {
        if (read.source < 0 && is_vector(read.registers)) return read.registers;
        if (read.source == 2 && is_vector(read.registers)) third = read.registers;
    }
    return third;
}
bool reads_factor(const Access& access, const Registers& registers) {
    const bool tied = std::ranges::any_of(
        access.all_reads(), [](const Read& read) { return read.source < 0 && is_vector(read.registers); });
    return std::ranges::any_of(access.all_reads(), [&](const Read& read) {
        return read.source >= 0 && (read.source < 2 || tied) && read.registers.overlaps(registers);
    });
}

/// Data of a store of more than 8 bytes; a buffer's that has a scalar offset is read in time.
bool is_late_data(const isa::Inst& inst, const Read& read) {
    const Format format = inst.row->format;
    if (read.use != Use::stored || read.registers.count <= 2) return false;
    if (isa::is_buffer(format))
        return !(inst.src[2].present() && inst.src[2].is_sgpr() && inst.src[2].code != code::null);
    return isa::is_flat(format);
}

int hardware_register(const isa::Inst& inst) { return inst.offset & 63; }

std::string advice(Fix fix, int missing) {
    switch (fix) {
        case Fix::nops: {
            std::string text;
            for (; missing > 0; missing -= 16) text += fmt::format("s_nop {}, ", std::min(missing, 16) - 1);
            return text.substr(0, text.size() - 2) + " before this";
        }
        case Fix::another: return "s_nop 0 before this";
        case Fix::vector_nop: return "v_nop before this";
        case Fix::vector_move: return "another vector instruction before this, not v_nop";
        case Fix::vdst_wait: return "s_waitcnt_depctr depctr_va_vdst(0) before this";
        case Fix::sdst_wait: return "s_waitcnt_depctr depctr_sa_sdst(0) before this";
    }
    return {};
}

constexpr uint64_t kRemembered = rules_that([](const Hazard& row) { return row.meets == Meets::remembered; });
/// Wait states pass in calls as elsewhere. The other rules are LLVM's workarounds of bugs, which it applies to one
/// function at a time. Instructions of a caller count for none of them.
constexpr uint64_t kWaitStates = rules_that([](const Hazard& row) { return row.fix == Fix::nops; });

bool leaves_function(std::string_view name) {
    return name == "s_swappc_b64" || name == "s_setpc_b64" || name == "s_call_b64";
}

}  // namespace

struct Recent::Broken {
    const Trace* trace = nullptr;
    size_t rule = 0;
    int missing = 0;
};

Recent::Recent(isa::Arch arch, int wave_size, bool replays) : arch_(arch) {
    for (size_t i = 0; i < kHazards.size(); ++i) {
        const Hazard& row = kHazards[i];
        const bool waves = row.waves == Waves::any || (row.waves == Waves::wave64 && wave_size == 64) ||
                           (row.waves == Waves::replayed && replays) ||
                           (row.waves == Waves::before_rdna35 && !(isa::info(arch).extra_rows & isa::kRdna35));
        if (waves && row.families.has(isa::info(arch).family)) rules_ |= uint64_t{1} << i;
    }
}

Recent::Known Recent::know(const isa::Inst& inst, const Access& access) const {
    const isa::Family family = isa::info(arch_).family;
    Known known{.is = classes_of(arch_, inst, access)};
    known.events = events_of(inst, access, known.is);
    known.states = static_cast<uint8_t>(states_of(inst, known.is));
    known.leaves_function = leaves_function(inst.row->mnemonic);
    known.passes = static_cast<uint8_t>(isa::matrix_passes(family, isa::facts(family, *inst.row)));
    for (uint64_t rules = rules_; rules; rules &= rules - 1) {
        const Hazard& row = kHazards[first_of(rules)];
        const uint64_t rule = rules & -rules;
        if (row.consumer.has(known.is)) known.consumed_by |= rule;
        if (row.producer.has(known.is)) known.produced_by |= rule;
        if (classes::kind(row.producer).has(known.is)) known.kind_of |= rule;
    }
    return known;
}

void Recent::step(const Step& step, const Known& known, Findings& found) {
    if (traces_.empty() && !known.produced_by) return;
    const Now now(step, known);
    arrive(step.pc);
    check(now, found);
    age(now);
    leave(now);
    for (Trace& trace : traces_) trace.next = step.pc + step.inst->size;
    if (!known.leaves_function) return;
    for (Trace& trace : traces_) trace.rules &= kWaitStates;
    std::erase_if(traces_, [](const Trace& trace) { return !trace.rules; });
}

/// A branch that is taken is a wait state more.
void Recent::arrive(uint64_t pc) {
    for (Trace& trace : traces_) {
        if (trace.next != pc) add(trace.states, 1);
        trace.next = pc;
    }
}

int Recent::past(size_t rule, const Trace& trace) {
    return kHazards[rule].clock == Clock::states ? trace.states : trace.valus;
}

int Recent::needed(size_t rule, const Trace& trace, const Now& now) const {
    return kHazards[rule].needs({.passes = trace.passes,
                                 .trans = trace.trans,
                                 .doubles = trace.doubles,
                                 .same = trace.row == now.inst.row,
                                 .to_doubles = classes::doubles.has(now.is)});
}

bool Recent::meets(size_t rule, const Trace& trace, const Now& now) const {
    const Registers& left = trace.registers;
    switch (kHazards[rule].meets) {
        case Meets::always: return true;
        case Meets::reads: return reads(now.access, left);
        case Meets::reads_value: return reads(now.access, left, [](Use use) { return use != Use::mask; });
        case Meets::reads_mask: return reads(now.access, left, [](Use use) { return use == Use::mask; });
        case Meets::writes: return writes(now.access, left);
        case Meets::touches: return reads(now.access, left) || writes(now.access, left);
        case Meets::selects:
            return std::ranges::any_of(now.access.all_reads(), [&](const Read& read) {
                return read.source == 1 && read.registers.overlaps(left);
            });
        case Meets::reads_factor: return reads_factor(now.access, left);
        case Meets::accumulates_part: {
            const Registers summand = lint::summand(now.access);
            return summand.count && summand.overlaps(left) && summand != trace.whole;
        }
        case Meets::accumulates_whole: return summand(now.access) == trace.whole && left.count;
        case Meets::same_register: return hardware_register(now.inst) == left.first;
        case Meets::forwards: return forwards(trace, now);
        case Meets::remembered: break;
    }
    return false;
}

/// True if one operand was last written before EXEC changed and another one after it.
bool Recent::forwards(const Trace& pair, const Now& now) const {
    const auto written_within = [&](const Registers& registers, int valus) {
        return std::ranges::any_of(traces_, [&](const Trace& trace) {
            return trace.leaves == Leaves::written && trace.valus < valus && trace.registers.overlaps(registers);
        });
    };
    for (const Read& early : now.access.all_reads())
        for (const Read& late : now.access.all_reads()) {
            if (early.use == Use::kept || late.use == Use::kept || early.registers == late.registers) continue;
            if (!early.registers.overlaps(pair.whole) || !late.registers.overlaps(pair.registers)) continue;
            if (!written_within(late.registers, pair.valus) && !written_within(early.registers, pair.valus + 1))
                return true;
        }
    return false;
}

Recent::Broken Recent::worst(const Now& now) const {
    Broken worst;
    for (const Trace& trace : traces_)
        for (uint64_t rules = trace.rules & now.consumed_by; rules; rules &= rules - 1) {
            const size_t rule = first_of(rules);
            const int missing = needed(rule, trace, now) - past(rule, trace);
            if (missing > worst.missing && meets(rule, trace, now)) worst = {&trace, rule, missing};
        }
    return worst;
}

std::optional<Lack> Recent::lacks(const Step& step, const Known& known) {
    if (!known.consumed_by) return {};
    arrive(step.pc);
    const Broken broken = worst(Now(step, known));
    if (!broken.trace) return {};
    return Lack{kHazards[broken.rule].fix, broken.missing};
}

void Recent::check(const Now& now, Findings& found) const {
    const Broken worst = this->worst(now);
    if (!worst.trace || found.again(Kind::hazard, now.step.pc)) return;
    const Hazard& row = kHazards[worst.rule];
    const Trace& trace = *worst.trace;
    const bool names = trace.registers.count && row.leaves != Leaves::hardware_register;
    std::string what = names ? name(trace.registers) + ": " : "";
    what += row.words;
    if (row.fix == Fix::nops)
        what += fmt::format("; {} of {} wait states are between the two", trace.states, worst.missing + trace.states);
    what += fmt::format(" ({})", row.source);
    found.add({.kind = Kind::hazard,
               .pc = now.step.pc,
               .what = std::move(what),
               .fix = advice(row.fix, worst.missing),
               .earlier = trace.pc});
}

void Recent::age(const Now& now) {
    using namespace classes;
    uint64_t ended = 0;
    for (size_t event = 0; event < kEndedBy.size(); ++event)
        if (now.events >> event & 1) ended |= kEndedBy[event];
    const bool is_valu = valu.has(now.is);
    const bool exec = salu.has(now.is) && writes(now.access, {code::exec_lo, 2});
    for (Trace& trace : traces_) {
        add(trace.states, now.states);
        add(trace.valus, is_valu);
        add(trace.trans, trans.has(now.is));
        trace.doubles |= doubles.has(now.is);
        trace.exec |= exec;
        trace.rules &= ~ended;
        for (uint64_t rules = trace.rules; rules; rules &= rules - 1) {
            const size_t rule = first_of(rules);
            if (past(rule, trace) >= kHazards[rule].most) trace.rules &= ~(uint64_t{1} << rule);
        }
    }
    std::erase_if(traces_, [](const Trace& trace) { return !trace.rules; });
}

/// Rules that look for the same kind of instruction look at the nearest one that left a register.
void Recent::supersede(const Now& now, Leaves leaves, const Registers& registers) {
    const uint64_t taken = now.kind_of & left_as(leaves);
    const uint16_t first = registers.first, end = first + registers.count;
    for (size_t i = 0, count = traces_.size(); i < count; ++i) {
        if (traces_[i].leaves != leaves || !(traces_[i].rules & taken)) continue;
        const Trace old = traces_[i];
        const uint16_t from = old.registers.first, to = from + old.registers.count;
        if (!registers.overlaps(old.registers) && registers != old.registers) continue;
        traces_[i].rules &= ~taken;
        const auto keep = [&](uint16_t a, uint16_t b) {
            if (a >= b) return;
            Trace part = old;
            part.rules &= taken;
            part.registers = {a, static_cast<uint16_t>(b - a)};
            traces_.push_back(part);
        };
        keep(from, std::min(first, to));
        keep(std::max(end, from), to);
    }
    std::erase_if(traces_, [](const Trace& trace) { return !trace.rules; });
}

void Recent::leave(const Now& now, Leaves leaves, const Registers& registers) {
    if (!(left_as(leaves) & (now.produced_by | now.kind_of))) return;
    supersede(now, leaves, registers);
    Trace trace{.pc = now.step.pc,
                .registers = registers,
                .whole = registers,
                .row = now.inst.row,
                .leaves = leaves,
                .passes = now.passes};
    for (uint64_t rules = now.produced_by & left_as(leaves); rules; rules &= rules - 1)
        if (lies_in(registers, kHazards[first_of(rules)].where)) trace.rules |= rules & -rules;
    if (trace.rules) traces_.push_back(trace);
}

/// A register that is written takes its place in pairs, and makes new ones with those from before a change of EXEC.
void Recent::leave_pairs(const Now& now, const Registers& registers) {
    constexpr auto kPairs = left_as(Leaves::across_exec);
    std::erase_if(traces_, [&](const Trace& trace) {
        return trace.rules & kPairs && (trace.registers.overlaps(registers) || trace.whole.overlaps(registers));
    });
    for (size_t i = 0, count = traces_.size(); i < count; ++i) {
        const Trace before = traces_[i];
        if (!(before.rules & kRemembered) || !before.exec || before.registers.overlaps(registers)) continue;
        if (before.leaves != Leaves::written) continue;
        Trace pair = before;
        pair.pc = now.step.pc;
        pair.rules = now.produced_by & kPairs;
        pair.registers = registers;
        pair.whole = before.registers;
        pair.leaves = Leaves::across_exec;
        pair.valus = 0;
        traces_.push_back(pair);
    }
}

bool Recent::rewrites_mask(const Registers& registers) const {
    const auto holds = [&](const Trace& trace) {
        return trace.leaves == Leaves::mask && trace.registers.overlaps(registers);
    };
    return registers.first < code::m0 && std::ranges::any_of(traces_, holds);
}

void Recent::leave(const Now& now) {
    const auto left = [&](Leaves leaves, const Registers& registers) { leave(now, leaves, registers); };
    const bool vector = classes::valu.has(now.is), masked = classes::masked.has(now.is);
    const bool pairs = now.produced_by & left_as(Leaves::across_exec);
    for (const Write& write : now.access.all_writes()) {
        if (pairs && is_vector(write.registers)) leave_pairs(now, write.registers);
        left(Leaves::written, write.registers);
        if (classes::salu.has(now.is) && rewrites_mask(write.registers)) left(Leaves::rewritten_mask, write.registers);
    }
    if (classes::loads.has(now.is))
        for (const Read& read : now.access.all_reads())
            if (is_operand(read)) left(Leaves::read, read.registers);
    for (const Read& read : now.access.all_reads()) {
        if (is_late_data(now.inst, read)) left(Leaves::stored, read.registers);
        if (vector && masked && read.use == Use::mask && is_operand(read)) left(Leaves::mask, read.registers);
    }
    if (classes::matrix.has(now.is) && summand(now.access).count) left(Leaves::accumulator, summand(now.access));
    if (classes::setreg.has(now.is))
        left(Leaves::hardware_register, {static_cast<uint16_t>(hardware_register(now.inst)), 1});
    left(Leaves::itself, {});
}

bool Recent::join(const Recent& other) {
    bool changed = false;
    const auto key = [](const Trace& trace) {
        return std::tuple(trace.pc, trace.next, trace.leaves, trace.registers.first, trace.registers.count,
                          trace.whole.first, trace.whole.count);
    };
    for (const Trace& theirs : other.traces_) {
        const auto at = std::ranges::find_if(traces_, [&](const Trace& mine) { return key(mine) == key(theirs); });
        if (at == traces_.end()) {
            traces_.push_back(theirs);
            changed = true;
            continue;
        }
        const Trace before = *at;
        at->rules |= theirs.rules;
        at->states = std::min(at->states, theirs.states);
        at->valus = std::min(at->valus, theirs.valus);
        at->trans = std::min(at->trans, theirs.trans);
        at->doubles |= theirs.doubles;
        at->exec |= theirs.exec;
        changed |= before != *at;
    }
    std::ranges::sort(traces_, {}, key);
    return changed;
}

}  // namespace strata::lint
