#include "strata/asm/lint/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "strata/asm/isa/facts.h"

namespace strata::lint {
namespace {

using isa::Format;
using isa::Inst;
using isa::Operand;
using isa::Row;
namespace code = isa::code;
namespace implicit = isa::implicit;

constexpr uint16_t kFlatScratch = 102;  // of CDNA; RDNA has it in hardware registers

/// Instructions that hand on what they read, and how many of their sources.
struct Copies {
    std::string_view prefix;
    size_t sources;
};
constexpr Copies kCopies[] = {{"v_mov", 1},      {"s_mov", 1},           {"v_swap", 1},      {"v_accvgpr", 1},
                              {"v_readlane", 1}, {"v_readfirstlane", 1}, {"v_writelane", 1}, {"v_permlane", 1},
                              {"v_dual_mov", 1}, {"s_cmov", 1},          {"v_cndmask", 2},   {"v_dual_cndmask", 2},
                              {"s_cselect", 2},  {"v_pk_mov", 2}};

size_t copied_sources(std::string_view mnemonic) {
    for (const Copies& row : kCopies)
        if (mnemonic.starts_with(row.prefix)) return row.sources;
    return 0;
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// True if the destination is a summand, a factor or an operand of the operation, not only what it leaves.
bool computes_with_destination(std::string_view mnemonic) {
    constexpr std::string_view parts[] = {"mac_", "dot2acc_", "dot2c_", "dot4c_", "dot8c_", "s_addk", "s_mulk"};
    return std::ranges::any_of(parts, [&](std::string_view part) { return contains(mnemonic, part); });
}

/// Loads that fill half of their last register. With ECC of registers (CDNA) the other half is not kept by all of them;
/// it counts as kept.
bool leaves_half(const Row& row) {
    if (!(row.flags & isa::kMemory) || row.flags & isa::kStore || !contains(row.mnemonic, "d16")) return false;
    return row.dst[0] == isa::Type::b16 || row.mnemonic.ends_with("_xyz");
}

/// Facts that follow from an instruction's name.
struct Named {
    bool known = false;
    uint8_t copied = 0;       ///< sources that are handed on
    bool computes = false;    ///< with the destination
    bool every_lane = false;  ///< reads lanes whatever EXEC says
    bool permutes = false, writes_lane = false, swaps = false, indexed = false, branches_on_exec = false;
    bool quads = false, quads_onto = false;  ///< lanes of the quad in source 0, and in the addend
    bool leaves_half = false, adds = false, half_product = false, permutes_halves = false;
};

Named read_name(const Row& row) {
    const std::string_view name = row.mnemonic;
    const bool permutes = name.starts_with("v_permlane");
    return {.known = true,
            .copied = static_cast<uint8_t>(copied_sources(name)),
            .computes = computes_with_destination(name),
            .every_lane = permutes || row.flags & isa::kMatrix || name.starts_with("v_readlane"),
            .permutes = permutes,
            .writes_lane = name.starts_with("v_writelane"),
            .swaps = name.starts_with("v_swap"),
            .indexed = contains(name, "movrel") || contains(name, "swaprel"),
            .branches_on_exec = name.starts_with("s_cbranch_exec"),
            .quads = row.format == Format::VINTERP,
            .quads_onto = name.starts_with("v_interp_p10_"),
            .leaves_half = leaves_half(row),
            .adds = name.ends_with("_load_block") || contains(name, "fmac") || contains(name, "pkaccum"),
            .half_product = name.starts_with("v_wmma_f16") || name.starts_with("v_wmma_bf16"),
            .permutes_halves = name.starts_with("v_permlane64")};
}

/// The facts of a row of the family's table, whose name is read once.
Named named(isa::Family family, const Row& row) {
    const std::span<const Row> all = isa::rows(family);
    if (std::less<>()(&row, all.data()) || !std::less<>()(&row, all.data() + all.size())) return read_name(row);
    thread_local std::array<std::vector<Named>, isa::kFamilyCount> tables;
    std::vector<Named>& table = tables[static_cast<size_t>(family)];
    if (table.empty()) table.resize(all.size());
    Named& known = table[static_cast<size_t>(&row - all.data())];
    if (!known.known) known = read_name(row);
    return known;
}

/// Destinations that are also read, which LLVM's tables do not say: v_pk_fmac_f16, and those written in part.
bool has_old_destination(isa::Family family, const Row& row, const Named& name, int wave_size) {
    // gfx9's 16-bit operations that select a half of it
    const bool half = isa::is_cdna(family) && row.format == Format::VOP3 && row.modifiers & isa::mod::op_sel(8);
    // gfx11's products of 16-bit numbers, which fill the half that op_sel selects
    const bool product = family == isa::Family::rdna3 && name.half_product;
    return half || product || (wave_size == 32 && name.permutes_halves) || name.leaves_half || name.adds;
}

/// Cache invalidations before RDNA4 raise no counter.
bool is_uncounted(const Inst& inst) {
    return inst.row->format == Format::MUBUF && !inst.row->src_kind[0] && contains(inst.row->mnemonic, "inv");
}

class Builder {
  public:
    Builder(isa::Arch arch, const Inst& inst, int wave_size)
        : family_(isa::info(arch).family),
          inst_(inst),
          lanes_(static_cast<uint16_t>(wave_size / 32)),
          name_(named(family_, *inst.row)),
          implied_reads_(isa::implicit_reads(family_, inst)),
          implied_writes_(isa::implicit_writes(family_, inst)) {}

    Access build() {
        if (!is_uncounted(inst_)) access_.counters = isa::counters(family_, inst_);
        access_.indexed = name_.indexed;
        every_lane_ = name_.every_lane || name_.quads || inst_.dpp.fi;
        const bool memory = inst_.row->flags & isa::kMemory, image = inst_.row->format == Format::MIMG;
        for (size_t i = 0; i < inst_.src.size(); ++i)
            read(inst_.src[i],
                 image    ? image_use(i)
                 : memory ? memory_use(i)
                          : use_of(*inst_.row, name_, inst_.src[i], i),
                 static_cast<int8_t>(i));
        for (size_t i = 0; image && i < inst_.src_y.size(); ++i)
            read(inst_.src_y[i], Use::address, static_cast<int8_t>(inst_.src.size() + i));
        if (inst_.row_y)
            for (size_t i = 0; i < inst_.src_y.size(); ++i)
                read(inst_.src_y[i], use_of(*inst_.row_y, named(family_, *inst_.row_y), inst_.src_y[i], i),
                     static_cast<int8_t>(inst_.src.size() + i));
        destinations();
        implied_reads();
        implied_writes();
        return access_;
    }

  private:
    bool writes_exec() const {
        return implied_writes_ & implicit::exec || (inst_.dst[0].present() && (inst_.dst[0].code | 1) == code::exec_hi);
    }

    Use use_of(const Row& row, const Named& name, const Operand& operand, size_t index) const {
        if (!operand.present()) return Use::value;
        const bool scalar = isa::kFormats[static_cast<size_t>(row.format)].unit == isa::FormatUnit::scalar;
        if (row.flags & isa::kBranch || (scalar && writes_exec())) return Use::control;
        if (operand.type == isa::Type::lanes) return Use::mask;
        if (index < name.copied) return Use::copied;
        return Use::value;
    }

    /// Descriptors, data of stores, addresses (asm/isa/image.h).
    static Use image_use(size_t index) { return index == 2 ? Use::stored : Use::address; }

    Use memory_use(size_t index) const {
        const Row& row = *inst_.row;
        if (row.format == Format::DS) {
            if (row.mnemonic == "ds_swizzle_b32") return Use::copied;
            const size_t field = index + isa::first_ds_field(row);
            if (field == 0 && row.src[0] != isa::Type::u32) return Use::stored;  // data of the global wave sync
            if (field == 0) return Use::address;
            return row.flags & (isa::kStore | isa::kAtomic) ? Use::stored : Use::copied;  // copied: lane permutations
        }
        const bool stores = row.flags & (isa::kStore | isa::kAtomic);
        size_t data = row.src.size();
        if (stores && row.format == Format::SMEM) data = 2;
        if (stores && isa::is_buffer(row.format)) data = 3;
        if (stores && isa::is_flat(row.format)) data = static_cast<size_t>(isa::flat_shape(row).data);
        return index == data ? Use::stored : Use::address;
    }

    /// True if operands may be halves of registers: DPP and SDWA move whole ones, VOPD and images have none.
    bool may_name_halves() const {
        return !inst_.row_y && !inst_.sdwa.present && inst_.dpp.kind == isa::DppKind::none &&
               inst_.row->format != Format::MIMG;
    }

    /// The half of a register that a 16-bit source, or a store of 16 or 8 bits, reads.
    uint8_t half_of_source(const Operand& operand, Use use, int8_t source) const {
        const std::string_view mnemonic = inst_.row->mnemonic;
        const bool byte = use == Use::stored && (mnemonic.ends_with("_b8") || mnemonic.ends_with("_byte"));
        if (!may_name_halves() || source < 0 || !(isa::is_half(operand.type) || byte)) return Registers::kWhole;
        const bool high = inst_.op_sel >> source & 1 || contains(mnemonic, "d16_hi");
        return high ? Registers::kHigh : Registers::kLow;
    }

    /// The half of a register that the first destination fills. CDNA's registers have ECC: it writes them whole.
    uint8_t half_of_destination() const {
        if (isa::is_cdna(family_) || !may_name_halves() || inst_.tfe || !isa::is_half(inst_.dst[0].type))
            return Registers::kWhole;
        const std::string_view mnemonic = inst_.row->mnemonic;
        const bool high = inst_.op_sel & 8 || contains(mnemonic, "_hi") || contains(mnemonic, "mixhi");
        return high ? Registers::kHigh : Registers::kLow;
    }

    uint16_t span(const Operand& operand) const {
        return static_cast<uint16_t>(std::max(isa::dwords(operand.type, lanes_ * 32), 1));
    }

    /// The registers that an operand names; of count 0 where it is no register.
    Registers registers_of(const Operand& operand) const {
        if (!operand.present()) return {};
        if (operand.is_vector()) return {operand.code, span(operand)};
        if (operand.code == code::scc) return {kScc, 1};
        if (operand.code == code::vccz) return {code::vcc_lo, lanes_};
        if (operand.code == code::execz) return {code::exec_lo, lanes_};
        if (!operand.is_sgpr() || operand.code == code::null) return {};
        return {operand.code, span(operand)};
    }

    void read(Registers registers, Use use, int8_t source, bool every_lane) {
        if (!registers.count || access_.read_count == Access::kReads) return;
        access_.reads[access_.read_count++] = {registers, use, source, every_lane && is_vector(registers)};
    }
    void read(const Operand& operand, Use use, int8_t source) {
        const bool others = source == 0 || inst_.row->flags & isa::kMatrix || (source == 2 && name_.quads_onto);
        Registers registers = registers_of(operand);
        if (is_vector(registers)) registers.halves = half_of_source(operand, use, source);
        read(registers, use, source, every_lane_ && others);
    }
    void write(Write write) {
        if (!write.registers.count || access_.write_count == Access::kWrites) return;
        access_.writes[access_.write_count++] = write;
    }

    /// True if an X half, or an instruction of one half, reads its destination.
    bool reads_destination() const {
        const Row& row = *inst_.row;
        const uint8_t reads = inst_.row_y ? isa::facts(family_, row).reads : implied_reads_;
        return reads & implicit::destination || has_old_destination(family_, row, name_, lanes_ * 32);
    }

    void destinations() {
        const Row& row = *inst_.row;
        const bool every = row.flags & isa::kMatrix || name_.writes_lane;
        const bool reads = reads_destination(), computes = reads && name_.computes;
        const bool swaps = name_.swaps;
        for (size_t i = 0; i < inst_.dst.size(); ++i) {
            Registers registers = registers_of(inst_.dst[i]), old = registers;
            if (name_.leaves_half && old.count) old = {static_cast<uint16_t>(old.first + old.count - 1), 1};
            if (inst_.tfe && i == 0 && registers.count) ++registers.count;  // whether the page was there
            const bool partly = i == 0 && reads && !swaps && !computes;
            if (partly && is_vector(registers)) registers.halves = half_of_destination();
            if (registers.halves != Registers::kWhole) old.halves = 0;  // the other half is not touched
            write({registers, access_.counters != 0, every, partly});
            if (i == 0 && reads) read(old, computes ? Use::value : swaps ? Use::copied : Use::kept, -1, every);
        }
        if (swaps) write({registers_of(inst_.src[0]), false, false, partial_swap()});
        if (!inst_.row_y) return;
        write({registers_of(inst_.dst_y)});
        if (isa::facts(family_, *inst_.row_y).reads & implicit::destination)
            read(registers_of(inst_.dst_y), Use::value, -1, false);
    }
    bool partial_swap() const { return isa::is_half(inst_.row->dst[0]); }

    bool has_read(uint16_t first) const {
        return std::ranges::any_of(access_.all_reads(),
                                   [&](const Read& read) { return read.registers.first == first; });
    }
    bool has_write(uint16_t first) const {
        return std::ranges::any_of(access_.all_writes(),
                                   [&](const Write& write) { return write.registers.first == first; });
    }
    /// Dwords of EXEC that the instruction works on: those of a mask operation are its operands'.
    uint16_t exec_dwords() const {
        const bool mask_operation = inst_.row->format == Format::SOP1 && inst_.dst[0].present();
        return mask_operation ? span(inst_.dst[0]) : lanes_;
    }

    void implied_reads() {
        const bool branch = inst_.row->flags & isa::kBranch, memory = inst_.row->flags & isa::kMemory;
        const bool message = inst_.row->format == Format::SOPP || inst_.row->format == Format::EXP;
        if (implied_reads_ & implicit::scc) read({kScc, 1}, branch ? Use::control : Use::mask, -1, false);
        if (implied_reads_ & implicit::vcc && !has_read(code::vcc_lo))
            read({code::vcc_lo, lanes_}, branch ? Use::control : Use::mask, -1, false);
        if (implied_reads_ & implicit::m0 && !releases_registers(family_, inst_))  // which says nothing
            read({code::m0, 1},
                 message                     ? Use::stored
                 : memory || access_.indexed ? Use::address
                                             : Use::value,
                 -1, false);
        // FLAT reads it for lanes in private memory only.
        const bool scratch = implied_reads_ & implicit::flat_scratch && inst_.row->format != Format::FLAT;
        if (scratch && isa::is_cdna(family_)) read({kFlatScratch, 2}, Use::address, -1, false);
        if (implied_reads_ & implicit::exec || name_.branches_on_exec || name_.permutes)
            read({code::exec_lo, exec_dwords()}, branch ? Use::control : Use::mask, -1, false);
        if (implied_reads_ & implicit::mode) read({kMode, 1}, Use::value, -1, false);
    }

    void implied_writes() {
        if (implied_writes_ & implicit::scc) write({{kScc, 1}});
        if (implied_writes_ & implicit::exec && !has_write(code::exec_lo)) write({{code::exec_lo, exec_dwords()}});
        if (implied_writes_ & implicit::m0) {
            write({{code::m0, 1}, false, false, true});
            if (!has_read(code::m0)) read({code::m0, 1}, Use::kept, -1, false);
        }
        if (implied_writes_ & implicit::mode) write({{kMode, 1}, false, false, true});
    }

    isa::Family family_;
    const Inst& inst_;
    uint16_t lanes_;  ///< dwords of a lane mask
    Named name_;
    uint8_t implied_reads_, implied_writes_;  ///< isa::implicit bits
    bool every_lane_ = false;
    Access access_;
};

std::string pair_name(std::string_view name, uint32_t part, uint32_t count) {
    if (count > 1) return std::string(name);
    return fmt::format("{}_{}", name, part ? "hi" : "lo");
}

std::string row_name(char file, uint32_t first, uint32_t count) {
    return count == 1 ? fmt::format("{}{}", file, first) : fmt::format("{}[{}:{}]", file, first, first + count - 1);
}

}  // namespace

bool releases_registers(isa::Family family, const Inst& inst) {
    constexpr int kMessage = 3;
    return inst.row->mnemonic == "s_sendmsg" && !isa::is_cdna(family) && (inst.offset & 255) == kMessage;
}

std::string name(const Registers& registers) {
    const uint32_t first = registers.first, count = registers.count;
    if (first >= code::agpr0) return row_name('a', first - code::agpr0, count);
    if (first >= kVectors) return row_name('v', first - kVectors, count);
    if (first == kScc) return "scc";
    if (first == kMode) return "mode";
    if (first == code::m0) return "m0";
    if (first == code::null) return "null";
    if ((first | 1) == code::vcc_hi) return pair_name("vcc", first & 1, count);
    if ((first | 1) == code::exec_hi) return pair_name("exec", first & 1, count);
    if (first >= code::ttmp0) return "ttmp" + row_name('x', first - code::ttmp0, count).substr(1);
    return row_name('s', first, count);
}

Access access_of(isa::Arch arch, const isa::Inst& inst, int wave_size) {
    return Builder(arch, inst, wave_size).build();
}

}  // namespace strata::lint
