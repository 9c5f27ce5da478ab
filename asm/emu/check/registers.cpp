#include "strata/asm/emu/check/registers.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "strata/asm/emu/check/private_memory.h"
#include "strata/asm/emu/memory/ops.h"

namespace strata::emu {

using lint::Read;
using lint::Use;
using lint::Write;

namespace {

/// Bits of a register that a store takes.
uint32_t stored_bits(const Moment& moment) {
    const uint8_t bytes = moment.op && moment.op->layout == Layout::memory ? moment.op->memory().bytes : 4;
    if (bytes >= 4 || bytes == 0) return ~0u;
    const uint32_t low = (1u << 8 * bytes) - 1;
    return moment.row().mnemonic.find("d16_hi") != std::string_view::npos ? low << 16 : low;
}

}  // namespace

void Registers::start(const Wave& wave, const GivenScalars& given) {
    lanes_ = wave.lanes;
    rows_.assign(static_cast<size_t>(wave.vgprs), 0);
    if (!rows_.empty()) rows_[0] = ~0ull;
    partial_.assign(rows_.size() * static_cast<size_t>(lanes_), 0);
    loaded_.assign(rows_.size(), 0);
    whole_.reset();
    scalars_.fill(0);
    for (size_t i = 0; i < given.size(); ++i) whole_[i] = given[i];
    for (const uint16_t always : {isa::code::null, isa::code::exec_lo, isa::code::exec_hi, lint::kMode})
        whole_.set(always);
    ++losses_;
}

void Registers::put(uint16_t reg, int lane, uint32_t bits) {
    if (reg < lint::kVectors) {
        if (reg >= scalars_.size() || reg == isa::code::null) return;
        losses_ += whole_[reg] && bits != ~0u;
        whole_[reg] = bits == ~0u;
        scalars_[reg] = bits;
        return;
    }
    const size_t row = reg - size_t{lint::kVectors};
    if (row >= rows_.size()) return;
    const uint64_t bit = 1ull << lane;
    losses_ += rows_[row] & bit && bits != ~0u;
    rows_[row] = bits == ~0u ? rows_[row] | bit : rows_[row] & ~bit;
    partial_[row * static_cast<size_t>(lanes_) + static_cast<size_t>(lane)] = bits;
}

void Registers::put_loaded(uint16_t reg, int lane, uint32_t bits, uint64_t pc) {
    put(reg, lane, bits);
    const size_t row = reg - size_t{lint::kVectors};
    if (row < loaded_.size()) loaded_[row] = pc + 1;
}

bool Registers::whole(const lint::Registers& registers, uint64_t lanes) const {
    for (uint16_t i = 0; i < registers.count; ++i) {
        const auto reg = static_cast<size_t>(registers.first + i);
        if (reg < lint::kVectors) {
            if (reg < whole_.size() && !whole_[reg]) return false;
        } else if (reg - lint::kVectors < rows_.size() && lanes & ~rows_[reg - lint::kVectors]) {
            return false;
        }
    }
    return true;
}

bool Registers::unknown(const lint::Registers& registers) const {
    for (uint16_t i = 0; i < registers.count; ++i)
        for (int lane = 0; lane < lanes_; ++lane)
            if (bits(static_cast<uint16_t>(registers.first + i), lane)) return false;
    return registers.count != 0;
}

/// Lanes whose value a read asks for: those of EXEC, or all.
uint64_t Registers::need(const Moment& moment, const Read& read) const {
    const uint64_t all = lanes_ == 64 ? ~0ull : (1ull << lanes_) - 1;
    const bool exchanges = read.every_lane || (moment.inst().dpp.kind != isa::DppKind::none && read.source == 0);
    return exchanges ? all : moment.exec();
}

/// All that is written is known: what is read is.
void Registers::mark(const Moment& moment) {
    for (const Write& write : moment.step.access->all_writes()) {
        const uint64_t lanes = write.every_lane ? ~0ull : moment.exec();
        for (uint16_t i = 0; i < write.registers.count; ++i) {
            const auto reg = static_cast<size_t>(write.registers.first + i);
            if (reg < whole_.size())
                whole_.set(reg);
            else if (reg >= lint::kVectors && reg - lint::kVectors < rows_.size())
                rows_[reg - lint::kVectors] |= lanes;
        }
    }
}

/// What is known of a row goes to another one.
void Registers::move_row(const Moment& moment) {
    const auto from = static_cast<size_t>(moment.inst().src[0].row()),
               to = static_cast<size_t>(moment.inst().dst[0].row());
    if (from >= rows_.size() || to >= rows_.size()) return;
    const uint64_t exec = moment.exec(), fresh = (rows_[to] & ~exec) | (rows_[from] & exec);
    losses_ += (rows_[to] & ~fresh) != 0;
    rows_[to] = fresh;
    const auto lanes = static_cast<size_t>(lanes_);
    for (uint64_t left = exec & ~rows_[from]; left; left &= left - 1) {
        const auto lane = static_cast<size_t>(std::countr_zero(left));
        partial_[to * lanes + lane] = partial_[from * lanes + lane];
    }
}

/// M0 has a say in which registers are meant: what is written, by v_movreld or gfx9's indexing (CDNA3 ISA, "VGPR Indexing"),
/// counts as known, wherever that is.
void Registers::mark_indexed(const Moment& moment) {
    const uint32_t m0 = moment.wave.s[isa::code::m0];
    const std::string_view name = moment.row().mnemonic;
    const bool gfx9 = moment.wave.mode & kGprIndex, two_fields = name.find("_2_") != std::string_view::npos;
    const bool names_destination = name.starts_with("v_movrels_") || (gfx9 && !(m0 >> 15 & 1));
    const uint32_t shift = names_destination ? 0 : gfx9 ? m0 & 0xff : two_fields ? m0 >> 16 & 0x3ff : m0;
    for (const Write& write : moment.step.access->all_writes())
        for (uint16_t i = 0; i < write.registers.count; ++i) {
            const size_t reg = size_t{write.registers.first} + i + shift;
            if (reg < whole_.size())
                whole_.set(reg);
            else if (reg >= lint::kVectors && reg - lint::kVectors < rows_.size())
                rows_[reg - lint::kVectors] |= moment.exec();
        }
}

bool Registers::knows(const Run& run, uint64_t exec) const {
    if (passed(run, exec)) return true;
    const uint64_t everyone = lanes_ == 64 ? ~0ull : (1ull << lanes_) - 1;
    const auto lacks = [&](const std::vector<uint16_t>& rows, uint64_t lanes) {
        uint64_t missing = 0;
        for (const uint16_t row : rows) missing |= lanes & ~rows_[row];
        return missing != 0;
    };
    const auto lacks_lane = [&](const RunRegisters::Lanes& read) {
        return (read.lanes & ~(rows_[read.row] | (read.own ? exec : 0))) != 0;
    };
    const RunRegisters& all = run.registers;
    return (all.scalars_read & ~whole_).none() && !lacks(all.read, exec) && !lacks(all.read_across, everyone) &&
           (exec == everyone || !lacks(all.rewritten, everyone)) && std::ranges::none_of(all.read_lanes, lacks_lane);
}

void Registers::pass(const Run& run, uint64_t exec) {
    if (passed(run, exec)) return;
    for (const uint16_t row : run.registers.written) rows_[row] |= exec;
    for (const uint16_t row : run.registers.written_across) rows_[row] = ~0ull;
    for (const auto& [row, lanes, own] : run.registers.written_lanes) rows_[row] |= lanes;
    whole_ |= run.registers.scalars_written;
    if (run.id >= passed_.size()) passed_.resize(run.id + 64);
    passed_[run.id] = {exec, losses_};
}

void Registers::step(const Moment& moment) {
    if (moment.wave.mode & kGprIndex || moment.step.access->indexed) return mark_indexed(moment);
    if (moment.is_move) return move_row(moment);
    bool whole_reads = true;
    for (const Read& read : moment.step.access->all_reads())
        whole_reads = whole_reads && whole(read.registers, need(moment, read));
    if (whole_reads) return mark(moment);
    check(moment);
    derive(moment);
}

/// The reads that need what is known.
void Registers::check(const Moment& moment) {
    const bool memory = moment.op && moment.op->layout == Layout::memory;
    const bool own_memory =
        memory && (moment.op->memory().space == Space::local || moment.op->memory().space == Space::scratch);
    for (const Read& read : moment.step.access->all_reads()) {
        const uint64_t lanes = need(moment, read);
        if (whole(read.registers, lanes)) continue;
        if (read.use == Use::address) use(moment, read.registers, lanes, "forms an address");
        if (read.use == Use::stored && !own_memory)
            use(moment, read.registers, lanes & lanes_elsewhere(moment.wave, moment.op), "is stored",
                stored_bits(moment));
        if (read.use == Use::control && moment.row().flags & isa::kBranch) branch(moment, read);
    }
}

/// A branch on VCC knows where to go by any lane that is known to be set.
void Registers::branch(const Moment& moment, const Read& read) {
    const bool mask = read.registers.first == isa::code::vcc_lo;
    for (uint16_t i = 0; mask && i < read.registers.count; ++i)
        if (moment.wave.s[read.registers.first + i] & bits(static_cast<uint16_t>(read.registers.first + i), 0)) return;
    use(moment, read.registers, 0, "decides where the wave goes on");
}

void Registers::use(const Moment& moment, const lint::Registers& registers, uint64_t lanes, std::string_view how,
                    uint32_t asked) {
    for (uint16_t i = 0; i < registers.count; ++i) {
        const auto reg = static_cast<uint16_t>(registers.first + i);
        const bool vector = reg >= lint::kVectors;
        uint64_t missing = 0;
        for (int lane = 0; lane < (vector ? lanes_ : 1); ++lane)
            if ((!vector || lanes >> lane & 1) && asked & ~bits(reg, lane)) missing |= 1ull << lane;
        if (!missing) continue;
        const size_t row = vector ? reg - size_t{lint::kVectors} : loaded_.size();
        const uint64_t load = row < loaded_.size() ? loaded_[row] : 0;
        moment.report(load ? lint::Kind::uninitialised_memory : lint::Kind::uninitialised, vector ? missing : 0, [&] {
            lint::Finding finding;
            const std::string name = lint::name({reg, 1});
            finding.what =
                fmt::format("{} {}, but nothing has written {}", name, how, load ? "what it was loaded from" : "it");
            finding.fix =
                load ? "write the memory before it is loaded" : fmt::format("write {} on every way to this", name);
            if (load) finding.earlier = load - 1;
            return finding;
        });
        for (int lane = 0; lane < (vector ? lanes_ : 1); ++lane)
            if (missing >> lane & 1) put(reg, lane, ~0u);
    }
}

}  // namespace strata::emu
