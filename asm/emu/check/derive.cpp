#include <algorithm>
#include <bit>

#include "strata/asm/emu/check/registers.h"
#include "strata/asm/emu/machine/operands.h"

// Known bits of an instruction's results when only some bits of its sources are known.
namespace strata::emu {
namespace {

using isa::Operand;
using isa::Type;
using lint::Read;
using lint::Use;
using lint::Write;

constexpr std::string_view kNonzero[] = {"s_and", "s_or",  "s_xor", "s_nand", "s_nor", "s_xnor",
                                         "s_not", "s_lsh", "s_ash", "s_bfe",  "s_bcnt"};

/// v_pk_mov_b32: each half of the result is of a source of its own, and op_sel has a bit for each (MI200 ISA,
/// V_PK_MOV_B32).
bool moves_halves(const isa::Inst& inst) { return inst.row->mnemonic == "v_pk_mov_b32"; }

/// The half of a packed source from which one half of the result comes.
uint32_t asked_half(const isa::Inst& inst, int source, int half) {
    const uint8_t select = half && !moves_halves(inst) ? inst.op_sel_hi : inst.op_sel;
    return select >> source & 1 ? 0xffff0000 : 0xffff;
}

bool plain_operands(const isa::Inst& inst) {
    return !inst.neg && !inst.abs && !inst.omod && !inst.clamp && !inst.op_sel && !inst.sdwa.present &&
           inst.dpp.kind == isa::DppKind::none;
}

}  // namespace

/// A source with zeros above it: a dword, two, half of one, or a lane's bit of a mask.
Known Registers::fetch(const Moment& moment, const Operand& operand, int lane) const {
    Wave& wave = moment.wave;
    if (!operand.present()) return known(0);
    if (operand.code == isa::code::scc) return {wave.scc, bits(lint::kScc, 0) | ~1ull};
    const int dwords = std::min(isa::dwords(operand.type, 32), 2);
    Known value = known(0);
    for (int i = 0; i < dwords; ++i) {
        const auto reg = static_cast<uint16_t>(operand.code + (operand.type == Type::lanes ? lane / 32 : i));
        Known dword;
        if (operand.is_vector())
            dword = {wave.row(operand.row() + i)[lane], bits(reg, lane) | ~0xffffffffull};
        else if (operand.is_sgpr())
            dword = {wave.s[reg], bits(reg, 0) | ~0xffffffffull};
        else
            return known(constant_value(operand, moment.inst().literal) & (dwords == 2 ? ~0ull : 0xffffffffull));
        value = value | dword << known(32 * static_cast<uint64_t>(i));
    }
    return operand.type == Type::lanes ? bits_of(value >> known(static_cast<uint64_t>(lane) & 31), 1) : value;
}

/// True if all that an instruction computes with is known, of a lane; `half`: of a packed instruction's results.
bool Registers::knows_all(const Moment& moment, int lane, int half) const {
    const isa::Inst& inst = moment.inst();
    for (const Read& read : moment.step.access->all_reads()) {
        if (read.use == Use::kept) continue;
        const bool exchanges = read.every_lane || (inst.dpp.kind != isa::DppKind::none && read.source == 0);
        if (exchanges && !(moment.row().flags & isa::kMatrix)) {  // another lane's, whichever that is
            if (unknown(read.registers)) return false;
            continue;
        }
        if (exchanges && !whole(read.registers, need(moment, read))) return false;
        uint32_t asked = ~0u;
        if (read.source >= 0 && read.source < 4 && isa::is_half(inst.src[static_cast<size_t>(read.source)].type))
            asked = inst.op_sel >> read.source & 1 ? 0xffff0000 : 0xffff;
        if (read.source < 0 && read.use == Use::value && isa::is_half(inst.dst[0].type) &&
            read.registers.first == inst.dst[0].code)  // what is added to
            asked = inst.op_sel & 8 ? 0xffff0000 : 0xffff;
        if (moment.row().flags & isa::kMix && read.source >= 0 && inst.op_sel_hi >> read.source & 1)
            asked = inst.op_sel >> read.source & 1 ? 0xffff0000 : 0xffff;
        const bool mask = read.use == Use::mask && !is_vector(read.registers) && read.registers.first != lint::kScc;
        if (inst.row->format == isa::Format::VOP3P && !exchanges && read.source >= 0 &&
            inst.src[static_cast<size_t>(read.source)].type == Type::pk16)
            asked = asked_half(inst, read.source, half);
        const bool packed32 =
            read.source >= 0 && read.source < 4 && inst.src[static_cast<size_t>(read.source)].type == Type::pk32;
        if (packed32 && moves_halves(inst) && read.source != half) continue;
        for (uint16_t i = 0; i < read.registers.count; ++i) {
            if (packed32)
                asked = asked_half(inst, read.source, half) == 0xffff ? (i == 0 ? ~0u : 0) : (i == 1 ? ~0u : 0);
            if (mask) asked = read.registers.count > 1 && lane / 32 != i ? 0 : 1u << (lane & 31);
            if (asked & ~bits(static_cast<uint16_t>(read.registers.first + i), lane)) return false;
        }
    }
    return true;
}

/// The same of one of a dual instruction's operations, which the other one's operands do not concern.
bool Registers::knows_operands(const Moment& moment, const Part& part, int lane) const {
    if (!moment.inst().row_y) return knows_all(moment, lane);
    const std::string_view name = part.row.mnemonic;
    const bool adds = name.find("fmac") != name.npos || name.find("dot2acc") != name.npos;
    const auto is_known = [&](const Operand& operand) { return fetch(moment, operand, lane).whole(); };
    return std::ranges::all_of(part.src, is_known) && (!adds || is_known(part.dst));
}

Known Registers::result(const Moment& moment, const Part& part, int lane) const {
    if (part.row.format == isa::Format::VOP3P && part.dst.type == Type::pk32) {
        const uint64_t low = knows_all(moment, lane, 0) ? 0xffffffff : 0,
                       high = knows_all(moment, lane, 1) ? ~0xffffffffull : 0;
        return {0, low | high};
    }
    if (part.row.format == isa::Format::VOP3P && part.dst.type == Type::pk16) {
        const uint64_t low = knows_all(moment, lane, 0) ? 0xffff : 0,
                       high = knows_all(moment, lane, 1) ? 0xffff0000 : 0;
        return {0, low | high | ~0xffffffffull};
    }
    if (!part.transfer || !plain_operands(moment.inst())) return {0, knows_operands(moment, part, lane) ? ~0ull : 0};
    Known c = part.src.size() > 2 ? fetch(moment, part.src[2], lane) : known(0);
    if (part.row.flags & isa::kReadsVcc && (part.src.size() < 3 || !part.src[2].present()))
        c = fetch(moment, {isa::code::vcc_lo, Type::lanes}, lane);
    return part.transfer(fetch(moment, part.src[0], lane), fetch(moment, part.src[1], lane), c);
}

/// Takes down the known bits of a destination; half of a register may keep the other one.
void Registers::set(const Operand& dst, int lane, Known value, const isa::Row& row, uint8_t op_sel, bool partly) {
    const auto bits_lo = static_cast<uint32_t>(value.bits);
    const int count = std::max(isa::dwords(dst.type, lanes_), 1);
    for (int i = 0; i < count; ++i) {
        const auto reg = static_cast<uint16_t>(dst.code + i);
        uint32_t fresh = i == 1 ? static_cast<uint32_t>(value.bits >> 32) : i == 0 ? bits_lo : value.whole() ? ~0u : 0;
        bool rest = false;
        if (count == 1 && value.bits == 0) fresh = 0;
        if (partly && isa::is_half(dst.type)) {
            const bool high = op_sel & 8 || row.mnemonic.find("_hi") != std::string_view::npos ||
                              row.mnemonic.find("mixhi") != std::string_view::npos;
            const uint32_t half = bits_lo & 0xffff;
            fresh = high ? half << 16 | (bits(reg, lane) & 0xffff) : half | (bits(reg, lane) & 0xffff0000);
            rest = half == 0xffff;
        }
        results_.push_back({reg, lane, fresh, rest});
    }
}

/// v_readlane, v_readfirstlane and v_writelane know which lane they move. False: it is none of them.
bool Registers::move_lane(const Moment& moment) {
    const isa::Inst& inst = moment.inst();
    const std::string_view name = inst.row->mnemonic;
    const auto mask = static_cast<uint64_t>(lanes_ - 1);
    const bool selects = name.starts_with("v_readlane") || name.starts_with("v_writelane");
    if (selects && mask & ~fetch(moment, inst.src[1], 0).bits)
        use(moment, {inst.src[1].code, 1}, 0, "selects a lane", static_cast<uint32_t>(mask));
    if (name.starts_with("v_readfirstlane")) {
        const int lane = moment.exec() ? std::countr_zero(moment.exec()) : 0;
        results_.push_back({inst.dst[0].code, 0, static_cast<uint32_t>(fetch(moment, inst.src[0], lane).bits)});
    } else if (name.starts_with("v_readlane")) {
        const auto lane = static_cast<int>(fetch(moment, inst.src[1], 0).value & mask);
        results_.push_back({inst.dst[0].code, 0, static_cast<uint32_t>(fetch(moment, inst.src[0], lane).bits)});
    } else if (name.starts_with("v_writelane")) {
        const auto lane = static_cast<int>(fetch(moment, inst.src[1], 0).value & mask);
        results_.push_back({inst.dst[0].code, lane, static_cast<uint32_t>(fetch(moment, inst.src[0], 0).bits)});
    } else {
        return false;
    }
    return true;
}

void Registers::derive(const Moment& moment) {
    const isa::Inst& inst = moment.inst();
    const Origin from = origin(moment);
    results_.clear();
    if (isa::kFormats[static_cast<size_t>(inst.row->format)].unit == isa::FormatUnit::scalar) {
        derive_scalar(moment);
    } else if (!move_lane(moment)) {
        derive_vector(moment, {*inst.row, inst.src, inst.dst[0], moment.transfer});
        if (inst.row_y) derive_vector(moment, {*inst.row_y, inst.src_y, inst.dst_y, moment.transfer_y});
    }
    for (const Result& result : results_) {
        put(result.reg, result.lane, result.bits);
        if (result.bits != ~0u && !result.rest) set_origin(result.reg, from);
    }
}

void Registers::derive_vector(const Moment& moment, const Part& part) {
    const isa::Inst& inst = moment.inst();
    const bool memory = part.row.flags & isa::kMemory, exchanges = part.row.flags & isa::kMatrix;
    const std::span<const Write> writes = moment.step.access->all_writes();
    const bool partly = !writes.empty() && writes[0].partly;
    uint64_t exec_unknown = 0;
    uint32_t masks[2][2] = {{~0u, ~0u}, {~0u, ~0u}};  // of lane masks among the destinations
    for (uint64_t left = exchanges ? ~0ull >> (64 - lanes_) : moment.exec(); left; left &= left - 1) {
        const int lane = std::countr_zero(left);
        const Known value = memory ? known(0) : result(moment, part, lane);
        const Known rest = memory || knows_all(moment, lane) ? known(0) : Known{0, 0};
        for (size_t i = 0; i < (&part.row == inst.row ? 2u : 1u); ++i) {
            const Operand& dst = i == 0 ? part.dst : inst.dst[1];
            const Known& given = i == 0 ? value : rest;
            if (!dst.present()) continue;
            if (dst.is_vector()) {
                set(dst, lane, given, part.row, inst.op_sel, partly);
            } else if (!given.whole()) {
                masks[i][lane / 32] &= ~(1u << (lane & 31));
                if ((dst.code | 1) == isa::code::exec_hi) exec_unknown |= 1ull << lane;
            }
        }
    }
    for (size_t i = 0; i < 2; ++i) {
        const Operand& dst = i == 0 ? part.dst : inst.dst[1];
        if (&part.row != inst.row || !dst.present() || dst.is_vector() || dst.code == isa::code::null) continue;
        const bool mask = dst.type == Type::lanes;
        for (int word = 0; word < (mask ? lanes_ / 32 : isa::dwords(dst.type, lanes_)); ++word)
            results_.push_back({static_cast<uint16_t>(dst.code + word), 0, mask ? masks[i][word] : ~0u});
    }
    if (exec_unknown || part.row.flags & isa::kWritesExec) write_exec(moment, ~exec_unknown);
}

void Registers::derive_scalar(const Moment& moment) {
    const isa::Inst& inst = moment.inst();
    const std::string_view name = inst.row->mnemonic;
    const bool saves = name.find("saveexec") != std::string_view::npos || name.find("wrexec") != std::string_view::npos;
    Known value{0, knows_all(moment, 0) ? ~0ull : 0};
    if (inst.row->flags & isa::kMemory) value = known(0);
    if (moment.transfer) {
        const Operand exec{isa::code::exec_lo, inst.dst[0].type};
        value = moment.transfer(fetch(moment, inst.src[0], 0), fetch(moment, saves ? exec : inst.src[1], 0), known(0));
    } else if (name.starts_with("s_cselect")) {
        value = either(fetch(moment, inst.src[1], 0), fetch(moment, inst.src[0], 0),
                       {moment.wave.scc, bits(lint::kScc, 0) == ~0u ? ~0ull : 0});
    }
    const bool nonzero = moment.transfer && std::ranges::any_of(kNonzero, [&](std::string_view prefix) {
                             return name.starts_with(prefix);
                         });
    const uint64_t width = isa::dwords(inst.dst[0].type, lanes_) == 2 ? ~0ull : 0xffffffffull;
    const bool decided = (value.bits & width) == width || (nonzero && value.value & value.bits & width);
    for (const Write& write : moment.step.access->all_writes()) {
        const uint16_t first = write.registers.first;
        if (first == lint::kScc) {
            results_.push_back({lint::kScc, 0, decided ? ~0u : 0});
        } else if (first == isa::code::exec_lo) {
            write_exec(moment, value.bits);
        } else {
            const uint64_t bits =
                saves && !name.starts_with("s_and_not0_wrexec") && !name.starts_with("s_and_not1_wrexec") ? ~0ull
                                                                                                          : value.bits;
            for (uint16_t i = 0; i < write.registers.count; ++i)
                results_.push_back({static_cast<uint16_t>(first + i), 0,
                                    i == 0          ? static_cast<uint32_t>(bits)
                                    : i == 1        ? static_cast<uint32_t>(bits >> 32)
                                    : value.whole() ? ~0u
                                                    : 0});
        }
    }
}

/// A lane that may or may not be active.
void Registers::write_exec(const Moment& moment, uint64_t bits) {
    if (!(everyone_ & ~bits)) return;
    moment.report(lint::Kind::uninitialised, everyone_ & ~bits, [&] {
        lint::Finding finding;
        finding.what = "whether a lane is active is decided by what nothing has written";
        finding.fix = "write what EXEC is made from on every way to this";
        return finding;
    });
}

}  // namespace strata::emu
