#include "strata/asm/emu/coverage.h"

#include "strata/asm/emu/program/program.h"

// The same code that prepares a program decides whether a row executes. An instance with plain operands is resolved and
// given to the choosers.
namespace strata::emu {
namespace {

using isa::Format;
using isa::Inst;
using isa::Operand;
using isa::Row;
using isa::Type;
namespace code = isa::code;

Operand operand(uint8_t kind, Type type, uint16_t number) {
    if (kind & (isa::kVgpr | isa::kAgpr)) return {static_cast<uint16_t>(code::vgpr0 + 32 + 16 * number), type};
    if (kind & isa::kSgpr) return {static_cast<uint16_t>(type == Type::lanes ? code::vcc_lo : 16 + 16 * number), type};
    if (kind & isa::kInline) return {code::inline_zero, type};
    return {code::literal, type};
}

/// The row with plain operands; `variant` 1 has what is optional the other way round.
Inst instance(const Row& row, int variant) {
    Inst inst;
    inst.row = &row;
    inst.encoding = row.format;
    inst.size = 8;
    for (size_t i = 0; i < 2; ++i)
        if (row.dst_kind[i]) inst.dst[i] = operand(row.dst_kind[i], row.dst[i], static_cast<uint16_t>(i));
    for (size_t i = 0; i < 4; ++i)
        if (row.src_kind[i]) inst.src[i] = operand(row.src_kind[i], row.src[i], static_cast<uint16_t>(2 + i));
    if (row.flags & isa::kWritesExec && row.dst[0] == Type::lanes) inst.dst[0].code = code::exec_lo;
    inst.op_sel_hi = row.modifiers >> 10 & 7;
    if (row.modifiers & isa::mod::gds_only) inst.gds = true;
    const bool flat = row.format == Format::FLAT || row.format == Format::GLOBAL || row.format == Format::SCRATCH;
    if (flat && variant == 0)  // no scalar address
        for (size_t i = 1; i < 4; ++i)
            if (row.src_kind[i] == isa::kSgpr) inst.src[i] = {};
    if (row.format == Format::MUBUF || row.format == Format::MTBUF) inst.offen = inst.src[0].present();
    if (row.flags & isa::kAtomic && variant == 0 && row.modifiers & isa::mod::glc) inst.dst[0] = {};
    return inst;
}

/// A VOPD row as the Y half beside a move, or as the X half.
Inst dual(isa::Family family, const Row& row, int variant) {
    const Row* move = isa::find_row(family, "v_dual_mov_b32", Format::VOPD);
    Inst inst;
    auto source = [](size_t i) { return Operand{static_cast<uint16_t>(code::vgpr0 + 4 + i), Type::b32}; };
    inst.encoding = Format::VOPD;
    inst.size = 8;
    inst.row = variant ? &row : move;
    inst.row_y = variant ? move : &row;
    inst.dst[0] = source(4);
    inst.dst_y = source(5);
    inst.src[0] = source(0), inst.src[1] = source(1);
    inst.src_y[0] = source(2), inst.src_y[1] = source(3);
    return inst;
}

bool executes(isa::Arch arch, const Row& row) {
    const isa::ArchInfo& info = isa::info(arch);
    for (int variant = 0; variant < 2; ++variant) {
        Inst inst = row.format == Format::VOPD ? dual(info.family, row, variant) : instance(row, variant);
        if (!(row.flags & isa::kWave64) && Program::executes(arch, info.wave_size, inst)) return true;
        if (info.has_wave64 && Program::executes(arch, 64, inst)) return true;
    }
    return false;
}

}  // namespace

std::vector<FormatCoverage> coverage(isa::Arch arch) {
    std::vector<FormatCoverage> all;
    for (const Row& row : isa::rows(isa::info(arch).family)) {
        if (row.flags & isa::kNotOnSilicon || !has_row(arch, row)) continue;
        if (all.empty() || all.back().format != row.format) all.push_back({.format = row.format});
        FormatCoverage& at = all.back();
        ++at.rows;
        if (row.flags & isa::kGraphics) {
            ++at.graphics;
        } else if (executes(arch, row)) {
            ++at.executed;
        } else {
            at.missing.push_back(row.mnemonic);
        }
    }
    return all;
}

}  // namespace strata::emu
