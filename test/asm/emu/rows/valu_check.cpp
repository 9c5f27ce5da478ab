#include "valu_check.h"

#include <fmt/format.h>

#include <cfenv>
#include <set>

#include "valu_bits.h"

namespace strata::emu::rows {

using isa::Operand;
using isa::Type;
using valu_test::Code;

namespace {

constexpr int kRows = 48;

/// Signs are modifiers of floats; integer pairs pass over them (RDNA3 ISA 7.5).
bool has_signs(const isa::Row& row) {
    return row.mnemonic.find("f16") != row.mnemonic.npos || row.mnemonic.find("f32") != row.mnemonic.npos;
}

bool scalar_result(const Operand& dst) { return dst.present() && !dst.is_vector() && dst.type != Type::lanes; }

}  // namespace

/// GFX9's own 16-bit instructions keep the half that they do not write; those that it took over clear it.
bool Check::keeps_rest(const isa::Row& row) const {
    static const std::set<std::string_view> gfx9 = {
        "v_mad_f16",  "v_mad_u16",  "v_mad_i16",  "v_fma_f16",  "v_div_fixup_f16", "v_add_i16",
        "v_sub_i16",  "v_min3_f16", "v_max3_f16", "v_med3_f16", "v_min3_i16",      "v_max3_i16",
        "v_med3_i16", "v_min3_u16", "v_max3_u16", "v_med3_u16", "v_fma_mixlo_f16", "v_fma_mixhi_f16"};
    return !isa::is_cdna(isa::info(arch_).family) || gfx9.count(row.mnemonic);
}

bool Check::load(const isa::Inst& inst, std::string& problem) {
    inst_ = inst;
    halves_.clear();
    const isa::Family family = isa::info(arch_).family;
    halves_.push_back({inst.row, inst.dst[0], inst_.src, model(inst.row->mnemonic), emu::fidelity(family, *inst.row)});
    if (inst.row_y)
        halves_.push_back(
            {inst.row_y, inst.dst_y, inst_.src_y, model(inst.row_y->mnemonic), emu::fidelity(family, *inst.row_y)});
    for (const Half& half : halves_)
        if (!half.run) problem = fmt::format("{} has no model", half.row->mnemonic);
    return problem.empty();
}

/// Equal and opposite operands are as likely as unrelated ones.
void Check::relate(Values& values, int lane) {
    const int from = static_cast<int>(values.below(3)), to = static_cast<int>(values.below(3));
    if (from == to || !values.chance(3)) return;
    for (int n = 0; n < 4; ++n) bench_.v(kSrc + kSrcStep * to + n, lane) = bench_.v(kSrc + kSrcStep * from + n, lane);
    if (values.chance(4)) bench_.v(kSrc + kSrcStep * to, lane) ^= 0x80000000;
}

void Check::fill(Values& values, int round, bool modes) {
    const uint64_t all = lanes_ == 64 ? ~uint64_t{0} : 0xffffffff;
    for (int lane = 0; lane < lanes_; ++lane) {
        for (int n = 0; n < kRows; ++n) bench_.v(n, lane) = static_cast<uint32_t>(values.of(Type::b32));
        auto put = [&](const Operand& at) {
            if (!at.present() || !at.is_vector()) return;
            const uint64_t bits = values.of(at.type);
            bench_.v(at.row(), lane) = static_cast<uint32_t>(bits);
            if (isa::dwords(at.type, lanes_) > 1) bench_.v(at.row() + 1, lane) = static_cast<uint32_t>(bits >> 32);
        };
        for (const Half& half : halves_) {
            put(half.dst);
            for (const Operand& source : half.src) put(source);
        }
        relate(values, lane);
    }
    exec_ = round % 3 == 2 ? values.next() & all : all;
    mask_in_ = values.next() & all;
    mode_ = mode::kPlain | (round & 1 ? mode::kIeee | mode::kDx10Clamp : 0);
    // Rounding of 32 and of 16 and 64 bits, input and output denormals of either kept or not.
    if (modes) {
        bool sums = false;
        for (const Half& half : halves_) sums |= follows_mode(*half.row);
        const uint32_t kept = (values.chance(2) ? 0x30 : 0) | (values.chance(2) ? 0xc0 : 0);
        mode_ = values.below(16) | (sums ? kept : mode::kPlain);
    }
    if (modes && !inst_.omod && values.chance(4)) mode_ |= mode::kFp16Ovfl;
    bench_.wave().mode = mode_;
    bench_.set_exec(exec_);
    bench_.wave().s[isa::code::m0] = 0;
    for (int n = kScalarIn; n < kScalarIn + 8; ++n)
        bench_.wave().s[n] = static_cast<uint32_t>(values.of(inst_.src[0].type));
    bench_.set_mask(kMaskOut, values.next());
    bench_.set_mask(kMaskIn, mask_in_);
    bench_.set_mask(kVcc, mask_in_);
    std::copy_n(bench_.wave().s, 106, scalar_);
    file_.assign(bench_.wave().row(0), bench_.wave().row(512));
}

uint64_t Check::source_bits(const Half& half, int i, int lane) const {
    const Operand& source = half.src[i];
    if (source.is_literal()) return inst_.literal;
    if (!source.is_vector()) return scalar_[source.code];
    uint64_t bits = before(source.row(), lane);
    if (isa::dwords(source.type, lanes_) > 1) bits |= uint64_t{before(source.row() + 1, lane)} << 32;
    return bits;
}

/// Interpolation reads P10 or P20 of the quad, and in the first pass adds P0, whatever EXEC is ("VINTERP
/// Instructions").
int Check::read_lane(const isa::Row& row, int i, int lane) {
    const int first = lane - lane % 4;
    if (row.mnemonic.starts_with("v_interp_p10_")) return i == 0 ? first + 1 : i == 2 ? first : lane;
    return row.mnemonic.starts_with("v_interp_p2_") && i == 0 ? first + 2 : lane;
}

/// Source 0 with DPP's row_shr:1; false where the lane does nothing.
bool Check::moved_source(int lane, uint64_t& bits) const {
    const bool valid = lane % 16 != 0 && exec_ >> (lane - 1) & 1;
    if (!valid && !inst_.dpp.bound_ctrl) return false;
    bits = valid ? source_bits(halves_[0], 0, lane - 1) : 0;
    return true;
}

/// The half, or the pair of halves, that op_sel chooses.
uint64_t Check::selected(uint64_t bits, const Operand& source, int i) const {
    const isa::Format format = inst_.encoding;
    const bool low = inst_.op_sel >> i & 1, top = inst_.op_sel_hi >> i & 1;
    if (is_16bit(source.type)) return low ? bits >> 16 & 0xffff : bits & 0xffff;
    if (format != isa::Format::VOP3P) return bits;
    if (source.type == Type::pk16) return (bits >> (low ? 16 : 0) & 0xffff) | (bits >> (top ? 16 : 0) & 0xffff) << 16;
    if (source.type == Type::pk32) return (bits >> (low ? 32 : 0) & 0xffffffff) | bits >> (top ? 32 : 0) << 32;
    return bits;
}

bool Check::flushes(Type type) const {
    const uint32_t kept = type == Type::f32 || type == Type::pk32 ? mode::kDenorm32 : mode::kDenorm16_64;
    return !(mode_ & kept);
}

uint64_t Check::with_signs(uint64_t bits, const Operand& source, int i) const {
    const bool negative = inst_.neg >> i & 1, absolute = inst_.abs >> i & 1, upper = inst_.neg_hi >> i & 1;
    const int width = is_16bit(source.type) ? 16 : isa::dwords(source.type, lanes_) == 2 ? 64 : 32;
    const uint64_t sign = uint64_t{1} << (width - 1);
    if (inst_.encoding == isa::Format::VOP3P) {
        if (!has_signs(*inst_.row)) return bits;
        // The modifiers of V_FMA_MIX and of dot products of bytes mean something else: the model's business.
        if (inst_.row->mnemonic.starts_with("v_fma_mix") || source.type == Type::b32) return bits;
        if (source.type == Type::pk16) return bits ^ (negative ? 0x8000u : 0) ^ (upper ? 0x80000000u : 0);
        if (source.type == Type::pk32) return bits ^ (negative ? 0x80000000u : 0) ^ (upper ? uint64_t{1} << 63 : 0);
        return is_float(source.type) && negative ? bits ^ sign : bits;
    }
    if (absolute) bits &= ~sign;
    return negative ? bits ^ sign : bits;
}

bool Check::gather(const Half& half, int lane, Lane& x) const {
    x.family = isa::info(arch_).family;
    x.mode = mode_, x.clamp = inst_.clamp, x.lane = lane;
    x.op_sel = inst_.op_sel, x.op_sel_hi = inst_.op_sel_hi, x.neg = inst_.neg, x.neg_hi = inst_.neg_hi;
    x.carry = mask_in_ >> lane & 1;
    for (int i = 0; i < static_cast<int>(half.src.size()); ++i) {
        const Operand& source = half.src[i];
        if (!source.present() || source.type == Type::lanes) continue;
        uint64_t bits = source_bits(half, i, read_lane(*half.row, i, lane));
        if (i == 0 && inst_.dpp.kind != isa::DppKind::none && !moved_source(lane, bits)) return false;
        if (inst_.sdwa.present && i < 2) bits = field(bits, inst_.sdwa.src_sel[i], inst_.sdwa.sext >> i & 1);
        x.s[i] = with_signs(selected(bits, source, i), source, i);
        if (follows_mode(*half.row) && flushes(source.type)) x.s[i] = without_denormals(x.s[i], source.type);
        if (source.type == Type::b128)
            x.s2_high = before(source.row() + 2, lane) | uint64_t{before(source.row() + 3, lane)} << 32;
    }
    if (half.row->mnemonic == "v_dual_fmaak_f32") x.s[2] = inst_.literal;
    if (half.row->mnemonic == "v_dual_fmamk_f32") x.s[2] = x.s[1], x.s[1] = inst_.literal;
    if (half.dst.is_vector() && half.dst.present()) {
        x.old = before(half.dst.row(), lane) | uint64_t{before(half.dst.row() + 1, lane)} << 32;
        if (is_16bit(half.dst.type)) x.old = x.old >> (inst_.op_sel & 8 ? 16 : 0) & 0xffff;
        if (follows_mode(*half.row) && flushes(half.dst.type)) x.old = without_denormals(x.old, half.dst.type);
    }
    return true;
}

/// The output modifier, where denormal results are off; RDNA4's always (RDNA4 ISA 7.2.3.1). No document gives the order
/// of scaling and flushing. gfx1201 makes a denormal +0 before scaling, and zero too (AMD has published results that
/// its emulator was compared with). LLVM knows it and leaves the modifier where signs of zeros count. A number that the
/// scale makes a denormal becomes a zero of its sign, not rounded. False where rounding made the result the least
/// normal number.
bool Check::scale(const Operand& dst, Lane& x) const {
    if (!inst_.omod || (!flushes(dst.type) && x.family != isa::Family::rdna4)) return true;
    const Wide factor = inst_.omod == 1 ? 2 : inst_.omod == 2 ? 4 : 0.5L;
    const Wide value = dst.type == Type::f16   ? reference::half_value(static_cast<uint32_t>(x.d))
                       : dst.type == Type::f32 ? std::bit_cast<float>(static_cast<uint32_t>(x.d))
                                               : std::bit_cast<double>(x.d);
    const Wide least = dst.type == Type::f16 ? 0x1p-14L : dst.type == Type::f32 ? 0x1p-126L : 0x1p-1022L;
    if (std::isnan(value)) return true;
    if (std::fabs(value) == least) return false;
    Wide scaled = value * factor;
    if (std::fabs(scaled) < least) scaled = std::copysign(Wide(0), value);
    if (std::fabs(value) < least) scaled = 0;
    if (dst.type == Type::f16)
        x.d = half_bits(x, scaled);
    else if (dst.type == Type::f32)
        x.f32(static_cast<float>(scaled));
    else
        x.f64(static_cast<double>(scaled));
    return true;
}

/// FP16_OVFL: a half that overflowed is the largest finite one; infinities made of infinities stay (RDNA3 ISA 3.4.2).
void Check::limit_overflow(const Half& half, Lane& x) const {
    if (half.row->mnemonic == "v_dot2_f16_f16") return;  // its model knows both halves of the factors
    if (!(mode_ & mode::kFp16Ovfl) || (x.bits != Bits::f16 && x.bits != Bits::pk_f16)) return;
    for (int at = 0; at < (x.bits == Bits::pk_f16 ? 32 : 16); at += 16) {
        auto infinite = [&](uint64_t bits) { return (bits >> at & 0x7fff) == 0x7c00; };
        bool true_one = half.row->mnemonic.find("fmac") != std::string_view::npos && infinite(x.old);
        for (size_t i = 0; i < half.src.size(); ++i) {
            const bool single = half.src[i].type == Type::f32;
            true_one |= single ? (x.s[i] & 0x7fffffff) == 0x7f800000 : infinite(x.s[i]);
        }
        if (infinite(x.d) && !true_one) x.d -= uint64_t{1} << at;
    }
}

/// False where the documents leave the result open.
bool Check::finish(const Half& half, Lane& x) const {
    const Type type = half.dst.type;
    const bool wide = type == Type::f64 || type == Type::pk16 || is_16bit(type);
    constexpr int kDirections[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    std::fesetround(kDirections[wide ? x.round16() : x.round32()]);
    half.run(x);
    limit_overflow(half, x);
    const bool told = scale(half.dst, x);
    std::fesetround(FE_TONEAREST);
    if (!told || (follows_mode(*half.row) && flushes(type) && least_normal(x.bits, x.d))) return false;
    if (inst_.clamp) x.d = clamped(x.bits, x.d, x.family == isa::Family::rdna4 || mode_ & mode::kDx10Clamp);
    if (follows_mode(*half.row) && flushes(type)) x.d = without_denormals(x.d, type);
    return true;
}

/// The first destination register after a result of at most 32 bits.
uint32_t Check::in_register(const Half& half, const Lane& x, uint32_t old) const {
    const uint32_t result = static_cast<uint32_t>(x.d);
    if (inst_.sdwa.present) return placed(result, old, inst_.sdwa);
    if (width_of(x.bits) != 16) return result;
    const bool top = half.row->mnemonic == "v_fma_mixhi_f16" || inst_.op_sel & 8;
    if (top) return (old & 0xffff) | result << 16;
    return (keeps_rest(*half.row) ? old & 0xffff0000 : 0) | (result & 0xffff);
}

std::string Check::describe(const Half& half, int lane, const Lane& x, uint32_t got, uint64_t want) const {
    std::string text = fmt::format("{} lane {} wave{}:", half.row->mnemonic, lane, lanes_);
    for (size_t i = 0; i < half.src.size(); ++i)
        if (half.src[i].present() && half.src[i].type != Type::lanes) text += fmt::format(" src{}={:x}", i, x.s[i]);
    text += fmt::format(" old={:x} carry={} mode={:x}", x.old, x.carry, mode_);
    text += fmt::format(" clamp={} op_sel={:x} op_sel_hi={:x} neg={:x} abs={:x} neg_hi={:x}", inst_.clamp, inst_.op_sel,
                        inst_.op_sel_hi, inst_.neg, inst_.abs, inst_.neg_hi);
    if (inst_.sdwa.present)
        text += fmt::format(" sdwa dst_sel={} unused={} src_sel={},{} sext={:x}", inst_.sdwa.dst_sel,
                            inst_.sdwa.dst_unused, inst_.sdwa.src_sel[0], inst_.sdwa.src_sel[1], inst_.sdwa.sext);
    if (inst_.dpp.kind != isa::DppKind::none) text += fmt::format(" dpp bound_ctrl={}", inst_.dpp.bound_ctrl);
    return text + fmt::format(" want {:x} got {:x}", want, got);
}

std::string Check::compare_lane(const Half& half, int lane, const Lane& x, bool active) {
    if (!half.dst.is_vector() || !half.dst.present()) return {};
    const int dwords = isa::dwords(half.dst.type, lanes_), at = half.dst.row();
    uint32_t got[4], want[4];
    for (int n = 0; n < dwords; ++n) got[n] = bench_.v(at + n, lane), want[n] = before(at + n, lane);
    const uint64_t got64 = got[0] | (dwords > 1 ? uint64_t{got[1]} << 32 : 0);
    if (!active || x.bits == Bits::none)
        return std::memcmp(got, want, 4u * static_cast<size_t>(dwords)) == 0
                   ? ""
                   : describe(half, lane, x, got[0], want[0]) + " (a lane that must not change)";
    const bool sine = half.row->mnemonic == "v_sin_f32" || half.row->mnemonic == "v_cos_f32";
    const int64_t steps = !(half.row->flags & isa::kTrans) ? 0 : sine && !x.cdna() ? 12 : 1;  // trans_rdna.inc
    bool right;
    if (width_of(x.bits) <= 32) {
        want[0] = in_register(half, x, want[0]);
        const bool whole = width_of(x.bits) == 32 && (!inst_.sdwa.present || inst_.sdwa.dst_sel == isa::Sdwa::dword);
        const bool top = half.row->mnemonic == "v_fma_mixhi_f16" || inst_.op_sel & 8 ||
                         (inst_.sdwa.present && inst_.sdwa.dst_sel == isa::Sdwa::word1);
        const int shift = top ? 16 : 0;
        if (whole)
            right = agrees(x.bits, want[0], got[0], steps);
        else if (x.bits == Bits::f16 || x.bits == Bits::bf16)
            right = agrees(x.bits, want[0] >> shift, got[0] >> shift, steps) &&
                    ((want[0] ^ got[0]) & ~(0xffffu << shift)) == 0;
        else
            right = want[0] == got[0];
        return right ? "" : describe(half, lane, x, got[0], want[0]);
    }
    right = agrees(x.bits, x.d, got64, steps);
    if (dwords == 4) right = right && x.d_high == (got[2] | uint64_t{got[3]} << 32);
    return right ? "" : describe(half, lane, x, got[0], x.d) + fmt::format(" (64 bits: {:x})", got64);
}

std::string Check::compare_masks(const std::vector<uint8_t>& mask, bool any) {
    if (!any) return {};
    uint64_t want = 0;
    for (int lane = 0; lane < lanes_; ++lane) want |= uint64_t{mask[static_cast<size_t>(lane)]} << lane;
    for (const Operand& dst : inst_.dst) {
        if (dst.type != Type::lanes) continue;
        const uint64_t got = bench_.s64(dst.code);
        if (got != want) return fmt::format("{}: mask {:x}, not {:x}", inst_.row->mnemonic, got, want);
    }
    if (inst_.row->flags & isa::kWritesExec && bench_.s64(kExec) != want)
        return fmt::format("{}: EXEC {:x}, not {:x}", inst_.row->mnemonic, bench_.s64(kExec), want);
    return {};
}

std::string Check::compare(const valu_test::Variant& variant, const Half& half) {
    std::vector<uint8_t> mask(static_cast<size_t>(lanes_));
    bool any = false;
    for (const Operand& dst : inst_.dst) any |= dst.present() && dst.type == Type::lanes;
    for (int lane = 0; lane < lanes_; ++lane) {
        Lane x;
        const bool active = gather(half, lane, x) && exec_ >> lane & 1;
        if (active && !finish(half, x)) continue;
        mask[static_cast<size_t>(lane)] = active && x.mask;
        std::string difference;
        if (scalar_result(half.dst)) {
            const uint32_t got = bench_.wave().s[half.dst.code];
            if (!active) finish(half, x);  // EXEC does not matter
            if (!agrees(x.bits, x.d, got, 1)) difference = describe(half, lane, x, got, x.d);
        } else {
            difference = compare_lane(half, lane, x, active);
        }
        if (half.row->mnemonic.starts_with("v_swap") && active && bench_.v(half.src[0].row(), lane) != x.extra)
            difference = describe(half, lane, x, bench_.v(half.src[0].row(), lane), x.extra) + " (the source)";
        if (!difference.empty()) return std::string(variant.name) + ": " + difference;
    }
    return compare_masks(mask, any);
}

std::string Check::differs(const isa::Inst& inst, int rounds, Values& values, bool modes) {
    std::string problem;
    if (!load(inst, problem)) return problem;
    const auto words = isa::encode(arch_, inst_);
    if (!words) return words.error().message;
    for (const valu_test::Variant& variant : valu_test::variants()) {
        Code code;
        if (!code.load(variant, std::span(words->words).first(static_cast<size_t>(words->count)), lanes_, arch_))
            return fmt::format("{}: {} is not executed", variant.name, inst.row->mnemonic);
        for (int round = 0; round < rounds; ++round) {
            fill(values, round, modes);
            if (!bench_.run(code)) return bench_.fault();
            for (const Half& half : halves_)
                if (std::string difference = compare(variant, half); !difference.empty()) return difference;
        }
    }
    return {};
}

}  // namespace strata::emu::rows
