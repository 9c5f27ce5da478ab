// fold_bits: shifts, masks and fields of one another are one instruction each, and bits that nobody reads need not be
// right.
// Before:  v_bfe_u32 %v2, %v1, 0, 16; v_and_b32 %v3, 0xffff, %v2; v_lshlrev_b32 %v4, 16, %v3
// After:   v_lshlrev_b32 %v4, 16, %v1
// The pass knows which bit of another register each bit of such a value is. Where one instruction gives the bits read
// from that register, it replaces the chain.
#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "strata/asm/isa/constants.h"
#include "strata/codegen/machine/builder.h"
#include "strata/codegen/machine/by_family.h"
#include "strata/codegen/machine/operands.h"
#include "strata/codegen/machine/passes.h"
#include "strata/codegen/machine/unique_defs.h"

namespace strata::codegen {
namespace {

enum class Kind : uint8_t { copy, mask, up, down, down_signed, field, field_signed };
struct Name {
    Kind kind;
    std::string_view vector, scalar;
};
constexpr Name kNames[] = {
    {Kind::mask, "v_and_b32", "s_and_b32"},      {Kind::up, "v_lshlrev_b32", "s_lshl_b32"},
    {Kind::down, "v_lshrrev_b32", "s_lshr_b32"}, {Kind::down_signed, "v_ashrrev_i32", "s_ashr_i32"},
    {Kind::field, "v_bfe_u32", "s_bfe_u32"},     {Kind::field_signed, "v_bfe_i32", "s_bfe_i32"}};

/// For each bit which bit of another value it is.
using Bits = std::array<int8_t, 32>;
constexpr int8_t kZero = -1;

constexpr Bits identity() {
    Bits bits{};
    for (int i = 0; i < 32; ++i) bits[static_cast<size_t>(i)] = static_cast<int8_t>(i);
    return bits;
}

/// The effect of one instruction on a value: a mask, a distance, or where a field begins and how wide it is.
struct Step {
    Kind kind = Kind::copy;
    uint32_t number = 0, width = 0;

    Bits apply(const Bits& from) const {
        if (kind == Kind::copy) return from;
        Bits out;
        out.fill(kZero);
        if (kind == Kind::mask) {
            for (size_t i = 0; i < 32; ++i)
                if (number >> i & 1) out[i] = from[i];
            return out;
        }
        if (kind == Kind::up) {
            std::copy(from.begin(), from.end() - number, out.begin() + number);
            return out;
        }
        const bool field = kind == Kind::field || kind == Kind::field_signed;
        const auto end = field ? from.begin() + number + width : from.end();
        const auto rest = std::copy(from.begin() + number, end, out.begin());
        if (kind == Kind::down_signed || kind == Kind::field_signed) std::fill(rest, out.end(), end[-1]);
        return out;
    }
};

/// The instructions of a family that are such steps.
struct Steps {
    std::array<std::array<const isa::Row*, 2>, std::size(kNames) + 1> rows{};  ///< of each kind: vector, scalar
    std::vector<Kind> kinds;                                                   ///< of each row of the family

    explicit Steps(isa::Family family) : kinds(isa::rows(family).size()) {
        for (const Name& name : kNames) {
            rows[static_cast<size_t>(name.kind)] = {row_of(family, name.vector), row_of(family, name.scalar)};
            for (const isa::Row* row : {row_of(family, name.vector), row_of(family, name.scalar),
                                        isa::find_row(family, name.vector, isa::Format::VOP3)})
                if (row) kinds[static_cast<size_t>(row - isa::rows(family).data())] = name.kind;
        }
    }
};

class FoldBits {
  public:
    explicit FoldBits(MachineFunction& function)
        : function_(function),
          steps_(of_family<Steps>(function.family)),
          first_row_(isa::rows(function.family).data()),
          values_(function),
          read_(values_.units()),
          made_(values_.units()),
          same_(values_.units()) {}

    void run() {
        for (size_t b = function_.blocks.size(); b-- > 0;)
            for (size_t i = function_.blocks[b].code.size(); i-- > 0;) note_reads(function_.blocks[b].code[i]);
        for (Block& block : function_.blocks)
            for (size_t i = 0; i < block.code.size(); ++i) {
                for (Place& place : block.code[i].src)
                    if (place && place.dwords == 1 && same_[values_.unit(place)]) place = same_[values_.unit(place)];
                fold(block, i);
            }
        remove_dead_code(function_);
    }

  private:
    struct Made {
        Place of;
        Bits bits;
    };

    std::optional<uint32_t> constant(const Instruction& instruction, size_t i) const {
        const isa::Operand& operand = instruction.inst.src[i];
        if (instruction.src[i]) return {};
        if (operand.is_literal()) return instruction.inst.literal;
        if (isa::is_inline_integer(operand.code)) return static_cast<uint32_t>(isa::inline_integer(operand.code));
        return {};
    }

    bool is_value(Place place) const {
        return place && place.dwords == 1 && function_.bank(place) != Bank::accumulation && values_.holds(place);
    }

    /// The instruction as a step from one register to another, both of one value; the first is src[from].
    std::optional<Step> step_of(const Instruction& instruction, size_t& from) const {
        if (instruction.pseudo != Pseudo::none) return {};
        const isa::Row* row = instruction.inst.row;
        const Kind kind = steps_.kinds[static_cast<size_t>(row - first_row_)];
        if (kind == Kind::copy || !is_value(instruction.dst[0]) || instruction.inst.clamp) return {};
        if (!is_pure(function_, instruction)) return {};
        Step step{.kind = kind};
        std::optional<uint32_t> number;
        const bool scalar = row == steps_.rows[static_cast<size_t>(kind)][1];
        if (step.kind == Kind::field || step.kind == Kind::field_signed) {
            from = 0;
            number = constant(instruction, 1);
            const std::optional<uint32_t> width = !scalar  ? constant(instruction, 2)
                                                  : number ? std::optional(*number >> 16)
                                                           : std::nullopt;
            if (scalar && number) *number &= 31;
            if (!number || !width || !*width || *width > 32 || *number + *width > 32) return {};
            step.width = *width;
        } else {
            from = scalar || (step.kind == Kind::mask && constant(instruction, 1)) ? 0 : 1;
            number = constant(instruction, 1 - from);
            if (!number || (step.kind != Kind::mask && *number > 31)) return {};
        }
        if (function_.bank(instruction.dst[0]) != (scalar ? Bank::scalar : Bank::vector)) return {};
        const Place source = instruction.src[from];
        if (!is_value(source) || function_.bank(source) != function_.bank(instruction.dst[0])) return {};
        step.number = *number;
        return step;
    }

    /// Instructions that compute each bit from the same bits.
    bool is_bitwise(const Instruction& instruction) const {
        if (!is_value(instruction.dst[0])) return false;
        if (is_copy(instruction)) return !instruction.predicate && !instruction.keeps;
        if (instruction.inst.row->format != isa::Format::VOP2) return false;
        const std::string_view name = instruction.inst.row->mnemonic;
        return (name == "v_or_b32" || name == "v_xor_b32" || name == "v_and_b32") && is_pure(function_, instruction);
    }

    void note_reads(const Instruction& instruction) {
        size_t from = 0;
        uint32_t bits = ~uint32_t{0};
        if (const std::optional<Step> step = step_of(instruction, from)) {
            const uint32_t wanted = read_[values_.unit(instruction.dst[0])];
            const Bits taken = step->apply(identity());
            bits = 0;
            for (size_t i = 0; i < 32; ++i)
                if (wanted >> i & 1 && taken[i] != kZero) bits |= uint32_t{1} << taken[i];
        } else if (is_bitwise(instruction)) {
            bits = read_[values_.unit(instruction.dst[0])];
        }
        each_read(function_, instruction, [&](Place place) {
            for (int i = 0; i < place.dwords; ++i) read_[values_.unit(place, i)] |= bits;
        });
    }

    /// Loads of less than a dword fill up with zeros.
    static uint32_t loaded_bits(const isa::Row& row) {
        const std::string_view name = row.mnemonic;
        auto ends = [&](std::string_view a, std::string_view b) { return name.ends_with(a) || name.ends_with(b); };
        if (!(row.flags & isa::kMemory) || row.flags & (isa::kStore | isa::kAtomic)) return 0;
        return ends("_u8", "_ubyte") ? 8 : ends("_u16", "_ushort") ? 16 : 0;
    }

    void fold(Block& block, size_t at) {
        Instruction& instruction = block.code[at];
        size_t from = 0;
        const std::optional<Step> step = step_of(instruction, from);
        if (!step) {
            const uint32_t bits = instruction.pseudo == Pseudo::none ? loaded_bits(*instruction.inst.row) : 0;
            if (bits && is_value(instruction.dst[0]))
                made_[values_.unit(instruction.dst[0])] =
                    Made{instruction.dst[0], Step{Kind::field, 0, bits}.apply(identity())};
            return;
        }
        const Place source = instruction.src[from], dst = instruction.dst[0];
        const std::optional<Made>& before = made_[values_.unit(source)];
        const Made made{before ? before->of : source, step->apply(bits_of(source))};
        made_[values_.unit(dst)] = made;
        const uint32_t wanted = read_[values_.unit(dst)];
        const std::optional<Step> shorter = wanted ? step_to(made.bits, wanted, bits_of(made.of)) : std::nullopt;
        if (!shorter) return;
        if (shorter->kind == Kind::copy) {
            if (function_.registers[dst.reg].dwords == 1) same_[values_.unit(dst)] = made.of;
        } else if (made.of != source && leaves_scc(function_, block.code, at)) {
            write(instruction, *shorter, made.of);
        }
    }

    Bits bits_of(Place place) const {
        const std::optional<Made>& made = made_[values_.unit(place)];
        return made ? made->bits : identity();
    }

    /// One step from a register, of which `from` is known, that gives the bits that are wanted.
    static std::optional<Step> step_to(const Bits& bits, uint32_t wanted, const Bits& from) {
        auto gives = [&](const Step& step) {
            const Bits got = step.apply(from);
            for (size_t i = 0; i < 32; ++i)
                if (wanted >> i & 1 && got[i] != bits[i]) return false;
            return true;
        };
        size_t first = 0;
        while (first < 32 && !(wanted >> first & 1 && bits[first] != kZero)) ++first;
        if (first == 32) return {};
        const int up = static_cast<int>(first) - bits[first];
        uint32_t mask = 0, width = 0;
        for (size_t i = 0; i < 32; ++i)
            if (bits[i] != kZero && bits[i] == static_cast<int>(i) - up)
                mask |= uint32_t{1} << i, width = static_cast<uint32_t>(i) + 1;
        const auto down = static_cast<uint32_t>(-up);
        std::array<Step, 6> tried;
        size_t count = 0;
        if (up == 0) {
            tried[count++] = {Kind::copy};
            tried[count++] = {Kind::mask, mask};
        } else if (up > 0) {
            tried[count++] = {Kind::up, static_cast<uint32_t>(up)};
        } else {
            tried[count++] = {Kind::down, down};
            tried[count++] = {Kind::down_signed, down};
        }
        if (up <= 0 && down + width <= 32) {
            tried[count++] = {Kind::field, down, width};
            tried[count++] = {Kind::field_signed, down, width};
        }
        for (size_t i = 0; i < count; ++i)
            if (gives(tried[i])) return tried[i];
        return {};
    }

    void write(Instruction& instruction, const Step& step, Place of) const {
        const bool field = step.kind == Kind::field || step.kind == Kind::field_signed;
        const bool scalar = function_.bank(of) == Bank::scalar;
        const isa::Row& row = *steps_.rows[static_cast<size_t>(step.kind)][scalar];
        Instruction made{.origin = instruction.origin};
        made.inst.row = &row;
        made.inst.encoding = row.format;
        made.inst.dst[0].type = row.dst[0];
        made.dst[0] = instruction.dst[0];
        for (size_t i = 0; i < (field && !scalar ? 3 : 2); ++i) made.inst.src[i].type = row.src[i];
        const size_t from = field || scalar ? 0 : 1;
        made.src[from] = of;
        auto put = [&](size_t i, uint32_t number) {
            const auto code = isa::inline_integer_code(static_cast<int32_t>(number));
            made.inst.src[i].code = code.value_or(isa::code::literal);
            if (!code) made.inst.literal = number;
        };
        put(1 - from, field && scalar ? step.number | step.width << 16 : step.number);
        if (field && !scalar) put(2, step.width);
        instruction = made;
    }

    MachineFunction& function_;
    const Steps& steps_;
    const isa::Row* first_row_;
    UniqueDefs values_;
    std::vector<uint32_t> read_;             // bits of each unit that are read
    std::vector<std::optional<Made>> made_;  // of each unit
    std::vector<Place> same_;                // of each unit: another that has the bits that are read
};

}  // namespace

Result<void> fold_bits(MachineFunction& function) {
    FoldBits(function).run();
    return {};
}

}  // namespace strata::codegen
