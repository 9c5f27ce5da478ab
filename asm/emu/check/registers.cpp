#include "strata/asm/emu/check/registers.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::emu {

using lint::Read;
using lint::Use;
using lint::Write;

void Registers::start(const Wave& wave, const GivenRegisters& given) {
    all_ = wave.lanes == 64 ? ~0ull : (1ull << wave.lanes) - 1;
    rows_.assign(static_cast<size_t>(wave.vgprs), 0);
    loaded_.assign(rows_.size(), 0);
    std::fill_n(rows_.begin(), std::min<size_t>(rows_.size(), static_cast<size_t>(given.vectors)), all_);
    scalars_.reset();
    for (size_t i = 0; i < given.scalars.size(); ++i) scalars_[i] = given.scalars[i];
    for (const uint16_t always : {isa::code::null, isa::code::exec_lo, isa::code::exec_hi, lint::kMode})
        scalars_.set(always);
}

void Registers::take_unwritten(int row, uint64_t lanes, uint64_t pc) {
    if (!lanes || row >= static_cast<int>(rows_.size())) return;
    rows_[static_cast<size_t>(row)] &= ~lanes;
    loaded_[static_cast<size_t>(row)] = pc + 1;
}

/// Lanes in which one of some registers is written: all or none of a scalar.
uint64_t Registers::lanes_of(const lint::Registers& registers, uint16_t dword) const {
    const auto reg = static_cast<size_t>(registers.first + std::min<uint16_t>(dword, registers.count - 1));
    if (reg < lint::kVectors) return reg >= scalars_.size() || scalars_[reg] ? all_ : 0;
    return reg - lint::kVectors < rows_.size() ? rows_[reg - lint::kVectors] : all_;
}

void Registers::set(uint16_t reg, uint64_t lanes, uint64_t written) {
    if (reg < lint::kVectors) {
        if (reg < scalars_.size()) scalars_[reg] = written != 0;
        return;
    }
    const size_t row = reg - lint::kVectors;
    if (row < rows_.size()) rows_[row] = (rows_[row] & ~lanes) | (written & lanes);
}

/// Reads that need what was written.
void Registers::use(const Moment& moment, const Read& read) {
    const bool exchanges = read.every_lane || (moment.inst().dpp.kind != isa::DppKind::none && read.source == 0);
    const bool whole = exchanges && moment.row().flags & isa::kMatrix;
    for (uint16_t i = 0; i < read.registers.count; ++i) {
        const uint64_t lanes = lanes_of(read.registers, i);
        uint64_t missing = (whole ? all_ : moment.exec()) & ~lanes;
        if (exchanges && !whole && lanes) missing = 0;  // another lane's, which nobody knows before it runs
        if (!missing) continue;
        const auto reg = static_cast<uint16_t>(read.registers.first + i);
        const size_t row = reg >= lint::kVectors ? reg - lint::kVectors : rows_.size();
        const uint64_t load = row < loaded_.size() ? loaded_[row] : 0;
        moment.report(load ? lint::Kind::uninitialised_memory : lint::Kind::uninitialised,
                      is_vector(read.registers) ? missing : 0, [&] {
                          lint::Finding finding;
                          const std::string name = lint::name({reg, 1});
                          if (load) {
                              finding.earlier = load - 1;
                              finding.what =
                                  fmt::format("{} is used; what was loaded into it, nothing has written", name);
                              finding.fix = "write the memory before it is loaded";
                          } else {
                              finding.what = fmt::format("{} is used, but nothing has written it", name);
                              finding.fix = fmt::format("write {} on every way to this", name);
                          }
                          return finding;
                      });
        set(reg, ~0ull, ~0ull);
    }
}

/// Lanes of a dword of the result that are written if its sources are, of an instruction that passes them on.
uint64_t Registers::copied(const Moment& moment, uint16_t dword) const {
    const std::string_view name = moment.row().mnemonic;
    uint64_t lanes = ~0ull, choice = ~0ull;
    const bool selects = name == "v_cndmask_b32" || name.starts_with("s_cselect");
    if (name == "v_cndmask_b32") {
        const uint16_t mask = moment.inst().src[2].code;
        if (mask + 1u < Wave::kScalars)
            choice = moment.wave.s[mask] | (moment.wave.lanes == 64 ? uint64_t{moment.wave.s[mask + 1]} << 32 : 0);
    } else if (selects) {
        choice = moment.wave.scc ? 0 : ~0ull;  // the first source if SCC
    }
    for (const Read& read : moment.step.access->all_reads()) {
        if (read.use != Use::copied) continue;
        uint64_t written = lanes_of(read.registers, dword);
        const bool exchanges = read.every_lane || moment.inst().dpp.kind != isa::DppKind::none;
        if (exchanges || !is_vector(read.registers)) written = written ? ~0ull : 0;
        if (selects) written |= read.source == 0 ? choice : ~choice;
        lanes &= written;
    }
    return lanes;
}

void Registers::step(const Moment& moment) {
    const lint::Access& access = *moment.step.access;
    if (moment.wave.mode & kGprIndex) return;  // its operands are other registers
    const bool own_memory = moment.op && moment.op->layout == Layout::memory &&
                            (moment.op->memory().space == Space::local || moment.op->memory().space == Space::scratch);
    bool copies = false;
    for (const Read& read : access.all_reads()) {
        copies |= read.use == Use::copied;
        if (read.use == Use::copied || read.use == Use::kept || (read.use == Use::stored && own_memory)) continue;
        use(moment, read);
    }
    for (const Write& write : access.all_writes()) {
        const uint64_t lanes = write.every_lane || !is_vector(write.registers) ? ~0ull : moment.exec();
        for (uint16_t i = 0; i < write.registers.count; ++i) {
            const auto reg = static_cast<uint16_t>(write.registers.first + i);
            set(reg, lanes, copies && reg != lint::kScc ? copied(moment, i) : ~0ull);
            if (copies && is_vector(write.registers)) {  // what a spill brought stays what it is
                const size_t row = reg - lint::kVectors;
                if (row < loaded_.size()) loaded_[row] = 0;
            }
        }
    }
}

}  // namespace strata::emu
