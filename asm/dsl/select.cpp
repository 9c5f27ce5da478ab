#include "strata/asm/dsl/select_p.h"

#include <algorithm>
#include <array>
#include <utility>

#include "strata/asm/dsl/constant_p.h"

namespace strata::isa {
namespace {

using Kind = DynOperand::Kind;

/// Where an operand of the text goes.
enum class Place : uint8_t { dst0, dst1, src0, src1, src2, src3, immediate, offset, length };

struct Places {
    std::array<Place, 7> at{};
    size_t count = 0;
    void add(Place place) { at[count++] = place; }
    void add_destination(const Row& row, size_t i) {
        if (row.dst_kind[i]) add(static_cast<Place>(i));
    }
    void add_source(const Row& row, size_t i) {
        if (row.src_kind[i]) add(static_cast<Place>(static_cast<size_t>(Place::src0) + i));
    }
};

/// v_cmpx writes exec, which its text does not name; CDNA's writes a mask too, which it names.
bool hidden_destination(const Row& row, bool cdna) {
    return !cdna && row.flags & kWritesExec && row.dst[0] == Type::lanes;
}

size_t count_sources(const Row& row) {
    return static_cast<size_t>(std::ranges::count_if(row.src_kind, [](uint8_t kind) { return kind != 0; }));
}

/// The order of operands in the text (LLVM AMDGPU operand syntax, one rule a format).
Places places_of(const Row& row, size_t given, const Modifiers& modifiers, bool cdna) {
    Places places;
    const bool immediate = row.modifiers & (mod::simm | mod::message) && row.format != Format::VINTERP;
    if (is_buffer(row.format) && row.src_kind[3]) {  // stores and atomics name the data first
        places.add(Place::src3);
        for (size_t i = 0; i < 3; ++i) places.add_source(row, i);
        return places;
    }
    if (row.format == Format::SMEM && row.src_kind[2]) {  // CDNA: stores and atomics name the data first
        places.add(Place::src2);
        for (size_t i = 0; i < 2; ++i) places.add_source(row, i);
        return places;
    }
    if (immediate && row.flags & kImmediateFirst) {
        places.add(Place::immediate);
        places.add_source(row, 0);
        return places;
    }
    if (row.flags & kPrefetch) {  // base, offset, offset register, length; pc_rel has no base
        if (row.src_kind[1]) places.add_source(row, 0);
        places.add(Place::offset);
        places.add_source(row, row.src_kind[1] ? 1 : 0);
        places.add(Place::length);
        return places;
    }
    if (row.flags & kProbe) places.add(Place::length);
    // An atomic returns the old value when the text has an operand more.
    const bool optional_result = is_flat(row.format) && row.flags & kAtomic;
    const bool to_lds = modifiers.lds && (is_buffer(row.format) || is_flat(row.format));
    if (!hidden_destination(row, cdna) && !to_lds && !(optional_result && given == count_sources(row)))
        for (size_t i = 0; i < 2; ++i) places.add_destination(row, i);
    for (size_t i = stores_from_lds(row) ? 1 : 0; i < 4; ++i) places.add_source(row, i);
    if (immediate && !(given == 0 && row.mnemonic == "s_endpgm")) places.add(Place::immediate);
    return places;
}

std::string place_name(Place place) {
    if (place == Place::immediate) return "the immediate";
    if (place > Place::immediate) return place == Place::offset ? "the offset" : "the first number";
    if (place < Place::src0) return place == Place::dst0 ? "the destination" : "the second destination";
    return fmt::format("source {}", static_cast<int>(place) - static_cast<int>(Place::src0));
}

/// Fills one Inst from operands; shared by single and dual instructions.
class Selector {
  public:
    Selector(const Machine& machine, std::string_view mnemonic) : machine_(machine), mnemonic_(mnemonic) {}

    template <class... Args>
    Error fail(fmt::format_string<Args...> text, Args&&... args) const {
        return make_error(ErrorKind::Assembly, "{}: {}", mnemonic_, fmt::format(text, std::forward<Args>(args)...));
    }

    /// `wanted` is the number of registers that the field holds.
    Result<Operand> operand(const DynOperand& given, Type type, uint8_t kind, int wanted, const std::string& name) {
        switch (given.kind) {
            case Kind::off: return Operand{};
            case Kind::label: return fail("{} cannot be a label", name);
            case Kind::integer:
            case Kind::real: return constant(given, type, kind, name);
            case Kind::vgpr:
            case Kind::agpr:
            case Kind::scalar: break;
        }
        STRATA_TRY_VOID(exists(given, wanted, name));
        if (given.count != 0 && given.count != wanted && given.index < code::inline_zero)
            return fail("{} takes {} register{}, but {} is {}", name, wanted, wanted == 1 ? "" : "s", to_string(given),
                        given.count);
        if (given.kind == Kind::vgpr) {
            result.vgprs = std::max(result.vgprs, given.index + wanted);
            return Operand{static_cast<uint16_t>(code::vgpr0 + given.index), type};
        }
        if (given.kind == Kind::agpr) {
            result.agprs = std::max(result.agprs, given.index + wanted);
            return Operand{static_cast<uint16_t>(code::agpr0 + given.index), type};
        }
        if (given.index < code::vcc_lo && !given.reserved) result.sgprs = std::max(result.sgprs, given.index + wanted);
        return Operand{given.index, type};
    }

    /// Two literals in one instruction must be the same word.
    Result<void> take_literal(uint32_t literal) {
        if (has_literal_ && result.inst.literal != literal)
            return fail("two different literals, {:#x} and {:#x}; one instruction has room for one",
                        result.inst.literal, literal);
        has_literal_ = true;
        result.inst.literal = literal;
        return {};
    }

    const Machine& machine() const { return machine_; }
    bool cdna() const { return is_cdna(info(machine_.arch).family); }
    Selected result;

  private:
    /// True if the arch has such registers: accumulation registers are CDNA's, which has 102 scalar ones.
    Result<void> exists(const DynOperand& given, int wanted, const std::string& name) const {
        const ArchInfo& arch = info(machine_.arch);
        if (!cdna() && (given.kind == Kind::agpr || given.reserved))
            return fail("{}: {} has no {}", name, arch.name, to_string(given));
        const bool general = given.kind == Kind::scalar && !given.reserved && given.index < code::vcc_lo;
        if (cdna() && given.kind == Kind::scalar && given.index == code::null)
            return fail("{}: {} has no null", name, arch.name);
        if (general && given.index + wanted > arch.sgprs)
            return fail("{}: {} is past s{}, the last one of {}", name, to_string(given), arch.sgprs - 1, arch.name);
        return {};
    }

    Result<Operand> constant(const DynOperand& given, Type type, uint8_t kind, const std::string& name) {
        if (!(kind & (kInline | kLiteralConstant)))
            return fail("{} must be a register, not {}", name, to_string(given));
        Result<Constant> encoded = encode_constant(given, type, kind == kLiteralConstant);
        if (!encoded) return fail("{}: {}", name, encoded.error().message);
        if (encoded->code == code::literal) STRATA_TRY_VOID(take_literal(encoded->literal));
        return Operand{encoded->code, type};
    }

    Machine machine_;
    std::string_view mnemonic_;
    bool has_literal_ = false;
};

/// Registers that source `index` spans: some address operands depend on others and on modifiers.
int registers_of_source(const Machine& machine, const Row& row, size_t index, const Places& places,
                        std::span<const DynOperand> operands, const Modifiers& modifiers) {
    if (row.format == Format::GLOBAL && index == 0 && row.src[0] == Type::b64 && row.src_kind[0] == kVgpr) {
        const DynOperand& base = operands[places.count - 1];  // saddr comes last
        return base.kind == Kind::scalar && base.index != code::null ? 1 : 2;
    }
    if (is_buffer(row.format) && index == 0) return modifiers.offen && modifiers.idxen ? 2 : 1;
    const bool data_with_status = is_buffer(row.format) && index == 3 && modifiers.tfe;
    return dwords(row.src[index], machine.wave_size) + (data_with_status ? 1 : 0);
}

Result<void> place_immediate(Selector& selector, const Row& row, const DynOperand& given) {
    if (given.kind == Kind::label) {
        if (!(row.flags & kBranch)) return selector.fail("it takes a number, not a label");
        selector.result.target = given.target;
        return {};
    }
    if (given.kind != Kind::integer)
        return selector.fail("the immediate must be a number{}", row.flags & kBranch ? " or a label" : "");
    if (given.integer < INT16_MIN || given.integer > UINT16_MAX)
        return selector.fail("the immediate {} does not fit 16 bits", given.integer);
    selector.result.inst.offset = static_cast<int32_t>(given.integer);
    return {};
}

/// The half of its register that a 16-bit operand names; `bit` is its bit of op_sel.
Result<void> place_half(Selector& selector, const DynOperand& given, Type type, size_t bit, const std::string& name) {
    if (given.half == DynOperand::Half::none) return {};
    if (!is_half(type))
        return selector.fail("{} is no 16-bit operand; {} names half a register", name, to_string(given));
    if (given.half == DynOperand::Half::upper) selector.result.inst.op_sel |= static_cast<uint8_t>(1 << bit);
    return {};
}

Result<void> place_operand(Selector& selector, const Row& row, const Places& places, size_t index,
                           std::span<const DynOperand> operands, Modifiers& modifiers) {
    const Place place = places.at[index];
    const DynOperand& given = operands[index];
    Inst& inst = selector.result.inst;
    if (place == Place::immediate) return place_immediate(selector, row, given);
    if (place == Place::offset || place == Place::length) {
        const int64_t most = place == Place::offset ? INT32_MAX : UINT8_MAX;
        if (given.kind != Kind::integer || given.integer > most || given.integer < (most == UINT8_MAX ? 0 : INT32_MIN))
            return selector.fail("{} must be a number of up to {}", place_name(place), most);
        if (place == Place::offset) inst.offset += static_cast<int32_t>(given.integer);
        if (place == Place::length) inst.offset1 = static_cast<uint8_t>(given.integer);
        return {};
    }
    const std::string name = place_name(place);
    if (place < Place::src0) {
        const auto i = static_cast<size_t>(place);
        const int wanted = dwords(row.dst[i], selector.machine().wave_size) + (modifiers.tfe ? 1 : 0);
        STRATA_TRY(inst.dst[i], selector.operand(given, row.dst[i], row.dst_kind[i], wanted, name));
        return place_half(selector, given, row.dst[i], 3, name);
    }
    const size_t i = static_cast<size_t>(place) - static_cast<size_t>(Place::src0);
    if (row.format == Format::SMEM && i == 1 && given.kind == Kind::integer) {
        inst.offset += static_cast<int32_t>(given.integer);
        return {};
    }
    // The VOP3 form may take more kinds of operand; encode() changes to it where needed and refuses the rest.
    uint8_t kind = row.src_kind[i];
    if (kind == kVgpr && (row.format == Format::VOP2 || row.format == Format::VOPC)) kind |= kInline | kLiteralConstant;
    const int wanted = registers_of_source(selector.machine(), row, i, places, operands, modifiers);
    // LLVM takes the exponent of v_ldexp_f16 and the mask of v_cmp_class_f16 for float16.
    const bool half_float =
        i == 1 && given.kind == Kind::real && (row.mnemonic == "v_ldexp_f16" || row.mnemonic.ends_with("_class_f16"));
    STRATA_TRY(inst.src[i], selector.operand(given, half_float ? Type::f16 : row.src[i], kind, wanted, name));
    if (half_float) inst.src[i].type = row.src[i];
    if (given.negate) inst.neg |= static_cast<uint8_t>(1 << i);
    if (given.absolute) inst.abs |= static_cast<uint8_t>(1 << i);
    if (given.sign_extend) modifiers.sdwa.sext |= static_cast<uint8_t>(1 << i);
    return place_half(selector, given, row.src[i], i, name);
}

/// In the mixed-precision instructions op_sel_hi tells float16 sources from float32 ones, and neg_hi means |x|
/// (RDNA3 ISA, "V_FMA_MIX_F32").
bool is_mixed(const Row& row) { return row.flags & kMix; }

/// Packed instructions take the upper half of a source for the upper result unless set otherwise.
uint8_t default_op_sel_hi(const Row& row) { return is_mixed(row) ? 0 : (row.modifiers | row.ignored) >> 10 & 7; }

/// byte_sel and index_key are names of bits of op_sel: see the conventions of decode().
uint8_t op_sel_of_names(const Row& row, const Modifiers& m) {
    const bool writes_byte = row.mnemonic.starts_with("v_cvt_sr_");
    const int byte = writes_byte ? m.byte_sel << 2 : m.byte_sel >> 1 | (m.byte_sel & 1) << 1;
    return static_cast<uint8_t>(byte | m.index_key);
}

void apply_modifiers(Inst& inst, const Row& row, const Modifiers& m, bool rdna4) {
    inst.neg |= m.neg;
    inst.abs |= m.abs;
    const uint8_t halves = std::exchange(inst.op_sel, m.op_sel);
    const size_t sources = count_sources(row);
    if (m.op_sel_count == sources + 1 && sources < 3)
        inst.op_sel = static_cast<uint8_t>((m.op_sel & ((1u << sources) - 1)) | m.op_sel >> sources << 3);
    inst.op_sel_hi = m.op_sel_hi.value_or(default_op_sel_hi(row));
    if (!row.src_kind[2]) inst.op_sel_hi |= default_op_sel_hi(row) & 4;  // the unused source keeps its default
    inst.neg_hi = m.neg_hi;
    if (is_mixed(row)) inst.neg_hi |= std::exchange(inst.abs, uint8_t{0});
    inst.omod = m.omod;
    inst.clamp = m.clamp;
    inst.dpp = m.dpp;
    inst.offset += row.format == Format::VINTERP ? m.wait_exp : m.offset;
    inst.offset1 |= m.offset1;
    inst.glc = m.glc;
    inst.slc = m.slc;
    inst.dlc = m.dlc;
    inst.gds = m.gds;
    inst.tfe = m.tfe;
    inst.offen = m.offen;
    inst.idxen = m.idxen;
    constexpr uint8_t k8Unorm = 1;  // RDNA3 ISA, "Buffer data formats"
    if (row.format == Format::MTBUF) inst.buffer_format = m.buffer_format.value_or(k8Unorm);
    inst.th = m.th;
    inst.scope = m.scope;
    inst.op_sel |= op_sel_of_names(row, m) | halves;
    const bool native = row.format == Format::VOP1 || row.format == Format::VOP2 || row.format == Format::VOPC;
    if (m.op_sel && native) inst.encoding = Format::VOP3;  // short encodings have halves in their register numbers
    if (row.flags & kAtomic && row.modifiers & mod::glc && inst.dst[0].present()) {
        if (rdna4) inst.th |= 1;
        if (!rdna4) inst.glc = true;
    }
    if (m.encoding == Modifiers::Encoding::e64)
        inst.encoding = row.format == Format::VOP3SD ? row.format : Format::VOP3;
}

bool has_cdna_modifiers(const Modifiers& m) {
    return m.sc1 || m.lds || m.cbsz || m.abid || m.blgp || m.sdwa.present || m.sdwa.sext;
}

Result<void> apply_cdna_modifiers(const Selector& selector, const Row& row, const Modifiers& m, Inst& inst) {
    inst.sc1 = m.sc1;
    inst.lds = m.lds;
    inst.cbsz = m.cbsz;
    inst.abid = m.abid;
    inst.blgp = m.blgp;
    inst.dpp.bound_ctrl |= m.bound_ctrl_zero;
    if (m.sdwa.sext && !m.sdwa.present) return selector.fail("sext() needs sub-dword addressing (_sdwa)");
    if (!m.sdwa.present) return {};
    inst.sdwa = m.sdwa;
    if (row.format == Format::VOPC || sdwa_whole_destination(row)) inst.sdwa.dst_unused = Sdwa::pad;
    return {};
}

struct Suffix {
    std::string_view text;
    Modifiers::Encoding encoding;
    bool dpp;
};
constexpr Suffix kSuffixes[] = {
    {"_e64_dpp", Modifiers::Encoding::e64, true}, {"_e64", Modifiers::Encoding::e64, false},
    {"_e32", Modifiers::Encoding::e32, false},    {"_dpp8", Modifiers::Encoding::any, true},
    {"_dpp", Modifiers::Encoding::any, true},     {"_sdwa", Modifiers::Encoding::any, false},
};

/// LLVM's encoding suffixes become modifiers; returns the bare mnemonic.
std::string_view strip_suffix(std::string_view mnemonic, Modifiers& modifiers) {
    for (const Suffix& suffix : kSuffixes)
        if (mnemonic.ends_with(suffix.text)) {
            if (suffix.encoding != Modifiers::Encoding::any) modifiers.encoding = suffix.encoding;
            if (suffix.text == "_sdwa") modifiers.sdwa.present = true;
            return mnemonic.substr(0, mnemonic.size() - suffix.text.size());
        }
    return mnemonic;
}

Result<const Row*> row_of(Arch arch, std::string_view mnemonic, int wave_size) {
    const Family family = info(arch).family;
    if (const Row* row = find_row(family, mnemonic); row && has_row(arch, *row))
        return &in_wave(family, *row, wave_size);
    if (rows(family).empty())
        return make_error(ErrorKind::Unsupported, "no instruction table for {} yet; assemble text instead",
                          info(arch).name);
    return make_error(ErrorKind::Assembly, "{} has no instruction '{}'", info(arch).name, mnemonic);
}

}  // namespace

Result<Selected> select(const Machine& machine, std::string_view mnemonic, std::span<const DynOperand> operands,
                        const Modifiers& given_modifiers) {
    Modifiers modifiers = given_modifiers;
    const std::string_view bare = strip_suffix(mnemonic, modifiers);
    STRATA_TRY(const Row* found, row_of(machine.arch, bare, machine.wave_size));
    const Row& row = *found;
    Selector selector(machine, bare);
    if (row.format == Format::MIMG && !selector.cdna()) return select_image(machine, row, operands, modifiers);
    if (row.flags & kGraphics) return selector.fail("graphics instructions are not assembled");
    if (modifiers.dmask || modifiers.image_dim || modifiers.unnormalized)
        return selector.fail("dmask, dim and unorm are of images");
    if (row.format == Format::VOPD) return selector.fail("a dual instruction needs its other half");
    const bool cdna = selector.cdna();
    const Places places = places_of(row, operands.size(), modifiers, cdna);
    // A scalar load may leave its offset out.
    const bool no_offset = row.format == Format::SMEM && operands.size() + 1 == places.count;
    if (operands.size() != places.count && !no_offset)
        return selector.fail("it takes {} operand{}, not {}", places.count, places.count == 1 ? "" : "s",
                             operands.size());
    Inst& inst = selector.result.inst;
    inst.row = &row;
    inst.encoding = row.format;
    for (size_t i = 0; i < operands.size(); ++i)
        STRATA_TRY_VOID(place_operand(selector, row, places, i, operands, modifiers));
    const bool rdna4 = info(machine.arch).family == Family::rdna4;
    const bool returns = rdna4 ? modifiers.th & 1 : modifiers.glc;
    if (is_buffer(row.format) && row.flags & kAtomic && returns) inst.dst[0] = {inst.src[3].code, row.dst[0]};
    if (row.format == Format::SMEM && row.flags & kAtomic && returns) inst.dst[0] = {inst.src[2].code, row.dst[0]};
    if (hidden_destination(row, cdna)) inst.dst[0] = {code::exec_lo, Type::lanes};
    apply_modifiers(inst, row, modifiers, rdna4);
    if (cdna) STRATA_TRY_VOID(apply_cdna_modifiers(selector, row, modifiers, inst));
    const bool interpolates = row.format == Format::VINTERP;
    if (interpolates ? modifiers.offset != 0 : modifiers.wait_exp != 0)
        return selector.fail("it takes no {}", interpolates ? "offset" : "wait_exp");
    if (!cdna && has_cdna_modifiers(modifiers)) return selector.fail("sc1, lds, sdwa and matrix modifiers are CDNA's");
    selector.result.must_be_e32 = modifiers.encoding == Modifiers::Encoding::e32;
    return std::move(selector.result);
}

Result<Selected> select_dual(const Machine& machine, const Half& x, const Half& y) {
    Selector selector(machine, x.mnemonic);
    if (machine.wave_size != 32) return selector.fail("dual instructions exist for waves of 32 lanes only");
    Inst& inst = selector.result.inst;
    inst.encoding = Format::VOPD;
    for (const Half* half : {&x, &y}) {
        const bool first = half == &x;
        const Row* row = find_row(info(machine.arch).family, half->mnemonic, Format::VOPD);
        if (!row) return selector.fail("'{}' is no half of a dual instruction", half->mnemonic);
        (first ? inst.row : inst.row_y) = row;
        // fmamk names its literal before the last register, fmaak after it.
        const size_t literal = !(row->flags & kLiteral) ? SIZE_MAX : row->flags & kLiteralSecond ? 2 : 3;
        const size_t wanted = 1 + count_sources(*row) + (literal != SIZE_MAX);
        if (half->operands.size() != wanted)
            return selector.fail("{} takes {} operands, not {}", row->mnemonic, wanted, half->operands.size());
        size_t source = 0;
        for (size_t i = 0; i < wanted; ++i) {
            const DynOperand& given = half->operands[i];
            if (i == literal) {
                Result<Constant> constant = encode_constant(given, Type::f32, true);
                if (!constant || (given.kind != Kind::integer && given.kind != Kind::real))
                    return selector.fail("{} needs a constant as operand {}", row->mnemonic, i);
                STRATA_TRY_VOID(selector.take_literal(constant->literal));
            } else if (i == 0) {
                STRATA_TRY((first ? inst.dst[0] : inst.dst_y),
                           selector.operand(given, row->dst[0], row->dst_kind[0], 1, "the destination"));
            } else {
                const std::string name = fmt::format("source {} of {}", source, row->mnemonic);
                STRATA_TRY((first ? inst.src[source] : inst.src_y[source]),
                           selector.operand(given, row->src[source], row->src_kind[source], 1, name));
                source++;
            }
        }
    }
    return std::move(selector.result);
}

}  // namespace strata::isa
