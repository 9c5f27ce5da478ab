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

lint::Finding finding_of(std::string_view name, std::string_view how, lint::Kind kind, uint64_t origin) {
    lint::Finding finding;
    if (kind == lint::Kind::out_of_bounds) {
        finding.what = fmt::format("{} {}, but comes from past the end of the memory that was loaded", name, how);
        finding.fix = "load no more than the memory has, or make it larger";
    } else if (kind == lint::Kind::aliased_pointers) {
        finding.what = fmt::format(
            "{} {}, but comes from an argument's memory that the launch has written by another argument before", name,
            how);
        finding.fix = "other memory for one of the two arguments, or a kernel that reads before it writes";
    } else if (kind == lint::Kind::uninitialised_memory) {
        finding.what = fmt::format("{} {}, but nothing has written what it was loaded from", name, how);
        finding.fix = "write the memory before it is loaded";
    } else {
        finding.what = fmt::format("{} {}, but nothing has written it", name, how);
        finding.fix = fmt::format("write {} on every way to this", name);
    }
    if (origin) finding.earlier = origin - 1;
    return finding;
}

}  // namespace

ScalarSet Registers::known_at_start(const GivenScalars& given) {
    ScalarSet known;
    for (size_t i = 0; i < given.size(); ++i) known[i] = given[i];
    for (const uint16_t always : {isa::code::null, isa::code::exec_lo, isa::code::exec_hi, lint::kMode})
        known.set(always);
    return known;
}

void Registers::start(const Wave& wave, const ScalarSet& given) {
    lanes_ = wave.lanes;
    everyone_ = lanes_ == 64 ? ~0ull : (1ull << lanes_) - 1;
    rows_.assign(static_cast<size_t>(wave.vgprs), 0);
    full_.reset();
    full_.set(0);
    low_.assign(rows_.size(), 0);
    full_low_.reset();
    partly_.assign(rows_.size(), 0);
    partial_.resize(rows_.size() * static_cast<size_t>(lanes_));
    row_origins_.assign(rows_.size(), 0);
    scalar_origins_.fill(0);
    whole_ = given;
    scalars_.fill(0);
}

void Registers::know(size_t row, uint64_t lanes) {
    if (full_[row]) return;
    rows_[row] |= lanes;
    if (!(everyone_ & ~rows_[row])) full_.set(row);
}

void Registers::know_low(size_t row, uint64_t lanes) {
    if (full_low_[row]) return;
    low_[row] |= lanes;
    if (!(everyone_ & ~low_[row])) full_low_.set(row);
}

void Registers::lose(size_t row, uint64_t lanes) {
    low_[row] = low_lanes(row) & ~lanes;
    full_low_.reset(row);
    rows_[row] = known_lanes(row) & ~lanes;
    partly_[row] &= ~lanes;
    full_.reset(row);
}

void Registers::put(uint16_t reg, int lane, uint32_t bits) {
    if (reg < lint::kVectors) {
        if (reg >= scalars_.size() || reg == isa::code::null) return;
        whole_[reg] = bits == ~0u;
        scalars_[reg] = bits;
        return;
    }
    const size_t row = reg - size_t{lint::kVectors};
    if (row >= rows_.size()) return;
    const uint64_t bit = 1ull << lane;
    if (bits == ~0u) return know(row, bit);
    lose(row, bit);
    if ((bits & 0xffff) == 0xffff) know_low(row, bit);
    if (!bits || bits == 0xffff) return;
    partly_[row] |= bit;
    partial_[place(row, lane)] = bits;
}

void Registers::put_loaded(uint16_t reg, int lane, uint32_t bits, uint64_t pc) {
    put(reg, lane, bits);
    set_origin(reg, pc + 1);
}

Registers::Origin Registers::origin(uint16_t reg) const {
    if (reg < scalar_origins_.size()) return scalar_origins_[reg];
    const size_t row = reg - size_t{lint::kVectors};
    return row < row_origins_.size() ? row_origins_[row] : 0;
}

void Registers::set_origin(uint16_t reg, Origin origin) {
    const size_t row = reg - size_t{lint::kVectors};
    if (reg < scalar_origins_.size())
        scalar_origins_[reg] = origin;
    else if (row < row_origins_.size())
        row_origins_[row] = origin;
}

/// That of something which an instruction reads and which is not known.
Registers::Origin Registers::origin(const Moment& moment) const {
    Origin found = 0;
    for (const Read& read : moment.step.access->all_reads())
        for (uint16_t i = 0; i < read.registers.count; ++i) {
            const auto reg = static_cast<uint16_t>(read.registers.first + i);
            if (read.use != Use::kept && !whole({reg, 1}, need(moment, read))) found = std::max(found, origin(reg));
        }
    return found;
}

void Registers::lose_beyond(const Moment& moment, uint32_t inside) {
    const lint::Registers& filled = moment.step.access->writes[0].registers;
    for (uint32_t i = 0; i < filled.count; ++i) {
        const uint32_t bytes = std::clamp(inside, 4 * i, 4 * i + 4) - 4 * i;
        if (bytes == 4) continue;
        const auto reg = static_cast<uint16_t>(filled.first + i);
        put(reg, 0, (1u << 8 * bytes) - 1);
        set_origin(reg, (moment.step.pc + 1) | kBeyond);
    }
}

void Registers::lose_stale(const Moment& moment, uint64_t lanes) {
    for (const Write& write : moment.step.access->all_writes())
        for (uint16_t i = 0; i < write.registers.count; ++i) {
            const auto reg = static_cast<uint16_t>(write.registers.first + i);
            if (reg < lint::kVectors)
                put(reg, 0, 0);
            else if (const size_t row = reg - size_t{lint::kVectors}; row < rows_.size())
                lose(row, lanes);
            set_origin(reg, (moment.step.pc + 1) | kStale);
        }
}

void Registers::lose_loaded(uint16_t reg, uint64_t lanes, uint64_t pc) {
    const size_t row = reg - size_t{lint::kVectors};
    if (row >= rows_.size() || !lanes) return;
    lose(row, lanes);
    row_origins_[row] = pc + 1;
}

bool Registers::whole(const lint::Registers& registers, uint64_t lanes) const {
    for (uint16_t i = 0; i < registers.count; ++i) {
        const auto reg = static_cast<size_t>(registers.first + i);
        if (reg < lint::kVectors) {
            if (reg < whole_.size() && !whole_[reg]) return false;
        } else if (reg - lint::kVectors < rows_.size() && lanes & ~known_lanes(reg - lint::kVectors)) {
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
    const bool exchanges = read.every_lane || (moment.inst().dpp.kind != isa::DppKind::none && read.source == 0);
    return exchanges ? everyone_ : moment.exec();
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
                know(reg - lint::kVectors, lanes);
        }
    }
}

/// A move gives its destination row the known bits of its source row.
void Registers::move_row(const Moment& moment) {
    const auto from = static_cast<size_t>(moment.inst().src[0].row()),
               to = static_cast<size_t>(moment.inst().dst[0].row());
    if (from >= rows_.size() || to >= rows_.size() || from == to) return;
    const uint64_t exec = moment.exec(), known = known_lanes(from);
    know(to, exec & known);
    const uint64_t others = exec & ~known;
    if (!others) return;
    lose(to, others);
    know_low(to, others & low_lanes(from));
    row_origins_[to] = row_origins_[from];
    partly_[to] |= partly_[from] & others;
    for (uint64_t left = partly_[from] & others; left; left &= left - 1) {
        const int lane = std::countr_zero(left);
        partial_[place(to, lane)] = partial_[place(from, lane)];
    }
}

/// M0 decides which registers are meant (v_movreld, or gfx9's indexing: CDNA3 ISA, "VGPR Indexing"). The registers
/// written so count as known, wherever they are.
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
                know(reg - lint::kVectors, moment.exec());
        }
}

/// The rows that it reads, one by one.
bool Registers::knows_in(const RunRegisters& all, uint64_t exec) const {
    const auto lacks = [&](const std::vector<uint16_t>& rows, uint64_t lanes) {
        uint64_t missing = 0;
        for (const uint16_t row : rows) missing |= lanes & ~known_lanes(row);
        return missing != 0;
    };
    const auto lacks_low = [&](uint16_t row) { return (exec & ~(known_lanes(row) | low_lanes(row))) != 0; };
    const auto lacks_lane = [&](const RunRegisters::Lanes& read) {
        return (read.lanes & ~(known_lanes(read.row) | (read.own ? exec : 0))) != 0;
    };
    return !lacks(all.read, exec) && !lacks(all.read_across, everyone_) &&
           (exec == everyone_ || !lacks(all.rewritten, everyone_)) &&
           std::ranges::none_of(all.read_lanes, lacks_lane) && std::ranges::none_of(all.read_low, lacks_low);
}

/// The rows that it writes.
void Registers::pass_in(const RunRegisters& all, uint64_t exec) {
    if (exec == everyone_) {
        for (size_t i = 0; i < all.words; ++i) full_.word(i) |= all.all_written.word(i);
    } else {
        for (const uint16_t row : all.written) know(row, exec);
        for (const uint16_t row : all.written_across) full_.set(row);
    }
    for (const auto& [row, lanes, own] : all.written_lanes) know(row, lanes);
    for (const uint16_t row : all.written_low) know_low(row, exec);
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
        const Origin from = origin(reg);
        const lint::Kind kind = from & kBeyond  ? lint::Kind::out_of_bounds
                                : from & kStale ? lint::Kind::aliased_pointers
                                : from          ? lint::Kind::uninitialised_memory
                                                : lint::Kind::uninitialised;
        moment.report(kind, vector ? missing : 0,
                      [&] { return finding_of(lint::name({reg, 1}), how, kind, from & ~(kBeyond | kStale)); });
        for (int lane = 0; lane < (vector ? lanes_ : 1); ++lane)
            if (missing >> lane & 1) put(reg, lane, ~0u);
    }
}

}  // namespace strata::emu
