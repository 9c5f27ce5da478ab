#include "strata/asm/lint/waits.h"

#include <fmt/format.h>

#include <algorithm>

#include "strata/asm/lint/wait_fields.h"

namespace strata::lint {
namespace {

using isa::Format;
using isa::Inst;
namespace counter = isa::counter;

bool stores_privately(const isa::Row& row) { return row.format == Format::SCRATCH && row.flags & isa::kStore; }

}  // namespace

std::array<Outstanding::Count, 2> Outstanding::counts_of(const Inst& inst, uint16_t counters) const {
    if (inst.row->format == Format::DS && inst.gds) counters |= counter::expcnt;
    const std::array<Counted, 2> by = counted(arch_, inst, counters);
    return {Count{by[0]}, Count{by[1]}};
}

void Outstanding::step(const Step& step, Findings& found) {
    const Inst& inst = *step.inst;
    const bool plain = inst.row->format == Format::SOPP || inst.row->format == Format::SOPK;
    if (plain && wait(inst)) return;
    constexpr uint32_t kNoWait = 7;
    if (const auto count = static_cast<uint32_t>(inst.offset); inst.row->format == Format::VINTERP && count < kNoWait)
        let_through(counter::expcnt, count);
    if (!operations_.empty()) check_use(step, found);
    check_release(step, found);
    if (step.access->counters) start(step);
}

void Outstanding::settle() {
    operations_.clear();
    marks_ = {};
}

/// True if the instruction is a wait for counters, which it then is.
bool Outstanding::wait(const Inst& inst) {
    const std::string_view mnemonic = inst.row->mnemonic;
    if (!mnemonic.starts_with("s_wait")) return false;
    if (mnemonic == "s_wait_idle") settle();
    if (inst.src[0].present() && inst.src[0].code != isa::code::null) return true;  // a register is added to the count
    for (const WaitField& field : kWaitFields) {
        if (!field.families.has(isa::info(arch_).family) || field.mnemonic != mnemonic) continue;
        const uint32_t count = count_in(field, static_cast<uint32_t>(inst.offset));
        if (count < most(field)) let_through(field.counter, count);
    }
    return true;
}

void Outstanding::let_through(uint16_t counter, uint32_t count) {
    for (Operation& operation : operations_)
        for (Count& own : operation.counts) {
            if (own.by.counter == counter && count <= (in_order(own.by.queue) ? own.younger : 0u)) own = {};
        }
    const auto ended = [](const Operation& operation) {
        return !operation.counts[0].by.counter && !operation.counts[1].by.counter;
    };
    if (std::erase_if(operations_, ended)) mark();
}

void Outstanding::mark() {
    marks_ = {};
    auto add = [&](const Registers& registers) {
        for (uint32_t i = registers.first; i < uint32_t{registers.first} + registers.count; ++i)
            if (i / 64 < marks_.size()) marks_[i / 64] |= uint64_t{1} << i % 64;
    };
    for (const Operation& operation : operations_) {
        add(operation.fills);
        for (const Registers& held : operation.holds) add(held);
    }
}

bool Outstanding::may_touch(const Registers& registers) const {
    for (uint32_t i = registers.first; i < uint32_t{registers.first} + registers.count; ++i)
        if (i / 64 < marks_.size() && marks_[i / 64] >> i % 64 & 1) return true;
    return false;
}

/// True if what a later instruction writes comes after what the operation writes, without a wait: both are of one kind.
/// FLAT goes two ways.
bool Outstanding::ends_before(const Operation& operation, const Inst& later) const {
    if (operation.row->format == Format::FLAT || later.row->format == Format::FLAT) return false;
    const std::array<Count, 2> counts = counts_of(later, isa::counters(isa::info(arch_).family, later));
    return std::ranges::all_of(operation.counts, [&](const Count& own) {
        return !own.by.counter ||
               (in_order(own.by.queue) && std::ranges::find(counts, own.by, &Count::by) != counts.end());
    });
}

void Outstanding::check_use(const Step& step, Findings& found) {
    bool changed = false;
    auto check = [&](const Registers& registers, bool writes, bool follows) {
        if (!may_touch(registers)) return;
        for (Operation& operation : operations_) {
            if (operation.fills.meets(registers) && !(follows && ends_before(operation, *step.inst))) {
                report(found, step, operation, Kind::missing_wait,
                       fmt::format("{} is {} while {} may still fill it", name(registers), writes ? "written" : "read",
                                   operation.row->mnemonic));
                operation.fills = {};
                changed = true;
            }
            for (Registers& held : operation.holds)
                if (writes && held.meets(registers)) {
                    report(found, step, operation, Kind::overwritten_source,
                           fmt::format("{} is written while {} may still read it", name(registers),
                                       operation.row->mnemonic));
                    held = {};
                    changed = true;
                }
        }
    };
    const bool late = step.access->counters;
    for (const Read& read : step.access->all_reads()) check(read.registers, false, late && read.use == Use::kept);
    for (const Write& write : step.access->all_writes()) check(write.registers, true, write.late);
    if (changed) mark();
}

void Outstanding::check_release(const Step& step, Findings& found) {
    const Inst& inst = *step.inst;
    if (released_) {
        const auto touches = [](const auto& part) { return is_vector(part.registers); };
        if (!std::ranges::any_of(step.access->all_reads(), touches) &&
            !std::ranges::any_of(step.access->all_writes(), touches))
            return;
        found.add({.kind = Kind::released_registers,
                   .pc = step.pc,
                   .what = fmt::format("{} uses vector registers after s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)",
                                       inst.row->mnemonic),
                   .fix = "send the message after the last use, before s_endpgm"});
        return;
    }
    if (!releases_registers(isa::info(arch_).family, inst)) return;
    released_ = true;
    for (const Operation& operation : operations_)
        if (stores_privately(*operation.row))
            report(found, step, operation, Kind::released_registers,
                   fmt::format("vector registers are given back while {} may still store to private memory",
                               operation.row->mnemonic));
}

void Outstanding::start(const Step& step) {
    const Inst& inst = *step.inst;
    Operation fresh{.pc = step.pc, .row = inst.row, .counts = counts_of(inst, step.access->counters)};
    for (Operation& operation : operations_)
        for (Count& own : operation.counts)
            for (const Count& other : fresh.counts)
                if (own.by.counter && own.by == other.by && own.younger < 255) ++own.younger;
    for (const Write& write : step.access->all_writes())
        if (write.late) fresh.fills = write.registers;
    size_t next = 0;
    const bool held = std::ranges::any_of(fresh.counts, [](const Count& c) { return c.by.counter == counter::expcnt; });
    for (const Read& read : step.access->all_reads())
        if (held && next < fresh.holds.size() &&
            (is_vector(read.registers) || read.registers.first == isa::code::exec_lo))
            fresh.holds[next++] = read.registers;
    const bool only_stores = !fresh.fills.count && !next;
    if (only_stores && !stores_privately(*inst.row)) return;
    // For stores to private memory it matters whether any is in flight: the last one ends last.
    if (only_stores)
        std::erase_if(operations_, [&](const Operation& operation) {
            return operation.is_private_store && operation.counts[0].by.counter == fresh.counts[0].by.counter;
        });
    fresh.is_private_store = only_stores;
    const auto at = std::ranges::lower_bound(operations_, step.pc, {}, &Operation::pc);
    if (at != operations_.end() && at->pc == step.pc)
        *at = fresh;
    else
        operations_.insert(at, fresh);
    mark();
}

bool Outstanding::join(const Outstanding& other) {
    bool changed = other.released_ && !released_;
    released_ = released_ || other.released_;
    for (const Operation& theirs : other.operations_) {
        const auto at = std::ranges::lower_bound(operations_, theirs.pc, {}, &Operation::pc);
        if (at == operations_.end() || at->pc != theirs.pc) {
            operations_.insert(at, theirs);
            changed = true;
            continue;
        }
        const Operation before = *at;
        for (size_t i = 0; i < theirs.counts.size(); ++i) {
            Count& own = at->counts[i];
            if (!own.by.counter)
                own = theirs.counts[i];
            else if (theirs.counts[i].by.counter)
                own.younger = std::min(own.younger, theirs.counts[i].younger);
        }
        if (!at->fills.count) at->fills = theirs.fills;
        for (size_t i = 0; i < theirs.holds.size(); ++i)
            if (!at->holds[i].count) at->holds[i] = theirs.holds[i];
        changed = changed || *at != before;
    }
    if (changed) mark();
    return changed;
}

void Outstanding::report(Findings& found, const Step& step, const Operation& operation, Kind kind,
                         std::string what) const {
    if (found.again(kind, step.pc)) return;
    found.add({.kind = kind,
               .pc = step.pc,
               .what = std::move(what),
               .fix = wait_for(operation) + " before this",
               .earlier = operation.pc});
}

/// The waits that end an operation: "s_waitcnt vmcnt(1) lgkmcnt(0)".
std::string Outstanding::wait_for(const Operation& operation) const {
    std::string text;
    bool combined = false;
    for (const Count& own : operation.counts) {
        if (!own.by.counter) continue;
        const WaitField* const field = std::ranges::find_if(kWaitFields, [&](const WaitField& row) {
            return row.families.has(isa::info(arch_).family) && row.counter == own.by.counter;
        });
        if (field == std::end(kWaitFields)) continue;
        const uint32_t count = in_order(own.by.queue) ? std::min<uint32_t>(own.younger, most(*field) - 1) : 0;
        if (field->mnemonic == "s_waitcnt") {
            text += combined ? " " : text.empty() ? "s_waitcnt " : " and s_waitcnt ";
            text += fmt::format("{}({})", isa::counter_names(own.by.counter).front(), count);
            combined = true;
            continue;
        }
        if (!text.empty()) text += " and ";
        text += fmt::format("{} {}{:#x}", field->mnemonic, field->mnemonic == "s_waitcnt_vscnt" ? "null, " : "", count);
    }
    return text;
}

}  // namespace strata::lint
