#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "strata/asm/isa/constants.h"
#include "strata/asm/isa/family.h"

namespace strata::isa {

enum class FormatUnit : uint8_t { scalar, vector, memory, graphics };
enum class Format : uint8_t {
#define FORMAT(name, unit) name,
#include "strata/asm/isa/formats.def"
};
struct FormatInfo {
    std::string_view name;
    FormatUnit unit;
};
inline constexpr FormatInfo kFormats[] = {
#define FORMAT(name, unit) {#name, FormatUnit::unit},
#include "strata/asm/isa/formats.def"
};
constexpr std::string_view name(Format format) { return kFormats[static_cast<size_t>(format)].name; }
constexpr bool is_memory(Format format) { return kFormats[static_cast<size_t>(format)].unit == FormatUnit::memory; }
constexpr bool is_buffer(Format format) { return format == Format::MUBUF || format == Format::MTBUF; }
constexpr bool is_flat(Format format) {
    return format == Format::FLAT || format == Format::SCRATCH || format == Format::GLOBAL;
}
/// Formats whose 16-bit vector operands are seven bits of register and one of half in RDNA.
constexpr bool has_half_registers(Format format) {
    return format == Format::VOP1 || format == Format::VOP2 || format == Format::VOPC;
}

/// How an operand's bits are read: a row of types.def.
enum class Type : uint8_t {
#define TYPE(name, ...) name,
#include "strata/asm/isa/types.def"
#undef TYPE
};
struct TypeInfo {
    std::string_view name;
    uint8_t dwords;  ///< a lane mask counted as one
    bool half;       ///< of a register, where the instruction can name one
    Reals reals;
};
inline constexpr TypeInfo kTypes[] = {
#define TYPE(name, dwords, half, reals) {#name, dwords, half, Reals::reals},
#include "strata/asm/isa/types.def"
#undef TYPE
};
constexpr const TypeInfo& info(Type type) { return kTypes[static_cast<size_t>(type)]; }
constexpr int span_of(Type type) { return info(type).dwords; }
constexpr bool is_half(Type type) { return info(type).half; }
constexpr bool is_64bit(Type type) { return info(type).reals == Reals::f64; }
constexpr int dwords(Type type, int wave_size) { return type == Type::lanes ? wave_size / 32 : span_of(type); }

enum RowFlag : uint32_t {
    kMemory = 1,
    kStore = 2,
    kAtomic = 4,
    kBranch = 8,
    kTrans = 16,
    kMatrix = 32,
    kNotOnSilicon = 64,
    kReadsVcc = 128,
    kWritesVcc = 256,
    kReadsScc = 512,
    kWritesScc = 1024,
    kWritesExec = 2048,
    kTrue16 = 4096,
    kGraphics = 8192,           // image, export, ray tracing, parameters: no compute use
    kLiteral = 16384,           // always followed by a literal word (fmaak, fmamk, s_setreg_imm32)
    kOneScalar = 32768,         // reads at most one scalar register or literal, not two
    kWave64 = 65536,            // RDNA's matrix products: the form in wave64, after wave32's form of the same opcode
    kMix = 1 << 17,             // v_fma_mix: op_sel_hi tells which sources are f16, neg_hi is abs
    kLiteralSecond = 1 << 18,   // VOPD: the literal is the second source, not the third
    kImmediateFirst = 1 << 19,  // the text names the immediate before the register (s_setreg)
    kPrefetch = 1 << 20,        // SMEM: has a length, in Inst::offset1
    kProbe = 1 << 21,           // SMEM: has a mode, in Inst::offset1
    kRdna35 = 1 << 22,          // RDNA3: of gfx1150 and later chips (has_row)
};

/// The kinds of operand that a field accepts.
enum OperandKind : uint8_t { kVgpr = 1, kSgpr = 2, kInline = 4, kLiteralConstant = 8, kAgpr = 16 };

/// Modifiers that a form accepts: one bit a source for the first five groups.
namespace mod {
constexpr uint32_t neg(uint32_t sources) { return sources; }
constexpr uint32_t abs(uint32_t sources) { return sources << 3; }
constexpr uint32_t op_sel(uint32_t sources) { return sources << 6; }  // bit 3: destination
constexpr uint32_t op_sel_hi(uint32_t sources) { return sources << 10; }
constexpr uint32_t neg_hi(uint32_t sources) { return sources << 13; }
constexpr uint32_t clamp = 1 << 16, omod = 1 << 17, offset = 1 << 18, glc = 1 << 19, slc = 1 << 20, dlc = 1 << 21,
                   tfe = 1 << 22, gds = 1 << 23, dpp = 1 << 24, simm = 1 << 25,
                   two_offsets = 1 << 26,  // DS: two 8-bit offsets instead of one of 16 bits
    message = 1 << 27,                     // the source field is a message number, in Inst::offset
    gds_only = 1 << 28,                    // DS: the gds bit must be set
    cache = glc,                           // RDNA4: takes a temporal hint and a scope
    sc1 = 1 << 29,                         // CDNA: bit 1 of the cache scope ("scc" on gfx90a)
    sdwa = 1 << 30,                        // CDNA: takes sub-dword addressing
    matrix = 1u << 31,                     // MFMA: cbsz, abid and blgp (SMFMAC has no blgp)
    lds = neg(1);                          // CDNA's MUBUF and CDNA2's FLAT: the data may go to LDS
}  // namespace mod

/// One instruction form of one family: a row of asm/isa/<family>.def.
struct Row {
    std::string_view mnemonic;  ///< vendor spelling without the _e32/_e64/_dpp suffix: "v_add_f32"
    Format format;
    uint16_t opcode;
    std::array<Type, 2> dst;            ///< vector/scalar destination, second destination (carry-out, sdst)
    std::array<Type, 4> src;            ///< sources in the order of LLVM's text
    uint32_t flags;                     ///< RowFlag bits
    std::array<uint8_t, 2> dst_kind{};  ///< OperandKind bits
    std::array<uint8_t, 4> src_kind{};
    uint32_t modifiers = 0;  ///< mod:: bits
    uint32_t ignored = 0;    ///< mod:: bits that may be set and have no effect
    Reals packed_reals{};    ///< the inline reals of packed operands, which see 32-bit ones where they are integers
};

/// All rows of a family, sorted by (format, opcode, kWave64).
std::span<const Row> rows(Family family);
/// The row of a mnemonic in a format, or nullptr. Without a format: the row in its native (smallest) format.
const Row* find_row(Family family, std::string_view mnemonic);
const Row* find_row(Family family, std::string_view mnemonic, Format format);
/// The row of an opcode in a format, or nullptr.
const Row* find_row(Family family, Format format, uint16_t opcode);
/// The form of a row of the family in waves of that size: find_row() gives wave32's of RDNA's matrix products.
const Row& in_wave(Family family, const Row& row, int wave_size);

// Questions about a row whose answer is in its columns or its name.

/// Positions in Inst::src of a FLAT, SCRATCH or GLOBAL instruction's operands; -1 where it has none.
struct FlatShape {
    int8_t address = -1, data = -1, saddr = -1;
};
inline FlatShape flat_shape(const Row& row) {
    FlatShape shape;
    bool has_data = row.flags & (kStore | kAtomic), has_saddr = row.format != Format::FLAT;
    int8_t next = 0;
    if (row.src_kind[size_t{has_data} + has_saddr]) shape.address = next++;  // the addtid forms have none
    if (has_data) shape.data = next++;
    if (has_saddr) shape.saddr = next;
    return shape;
}

/// The DS register field (0 address, 1 data0, 2 data1) of the first source operand: ds_store_addtid has data only.
inline size_t first_ds_field(const Row& row) { return row.flags & kStore && !row.src_kind[1] ? 1 : 0; }

/// True if a source may be scalar in an instruction with DPP. That is all but the first, and those of v_dot4 and
/// v_fma_mix that are VGPRs in LLVM's tables.
constexpr bool dpp_takes_scalar(const Row& row, size_t index) {
    if (index == 0 || row.format != Format::VOP3P) return index != 0;
    return !row.mnemonic.starts_with("v_dot4") && (index == 2 || !(row.flags & kMix));
}

/// True if CDNA's DPP knows row_newbcast only: operations on 64-bit values.
constexpr bool cdna_dpp_wide(const Row& row) {
    for (Type type : {row.dst[0], row.src[0], row.src[1]})
        if (span_of(type) == 2) return true;
    return false;
}

/// The sources of VOP1, VOP2 and VOPC that SDWA may sign-extend: those whose sign it cannot change.
constexpr uint8_t sext_sources(const Row& row) {
    uint32_t sources = row.src_kind[1] && row.src[1] != Type::lanes ? 3 : 1;
    return static_cast<uint8_t>(sources & ~row.modifiers);
}

/// Conversions from 8-bit floats select in the source only.
inline bool sdwa_whole_destination(const Row& row) {
    return row.mnemonic.ends_with("p8") || row.mnemonic.ends_with("f8");
}

/// CDNA's store from LDS, which has neither address nor data register: LDS is read at M0.
constexpr bool stores_from_lds(const Row& row) {
    return row.format == Format::MUBUF && row.flags & kStore && !row.src_kind[3];
}

/// MFMA of doubles on CDNA3: the bits of blgp negate the sources.
constexpr bool blgp_negates(const Row& row) { return row.modifiers & mod::neg(7); }

}  // namespace strata::isa
