// verify: what the column `check` of passes.def promises.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "strata/asm/isa/facts.h"
#include "strata/asm/lint/access.h"
#include "strata/asm/lint/lint.h"
#include "strata/codegen/lower/emit_p.h"
#include "strata/codegen/machine/builder.h"
#include "strata/codegen/machine/operands.h"
#include "strata/codegen/machine/workarounds.h"

namespace strata::codegen {
namespace {

template <class... Args>
Error wrong(fmt::format_string<Args...> text, Args&&... args) {
    return make_error(ErrorKind::Internal, text, std::forward<Args>(args)...);
}

/// Registers that have values, by dword; after the virtual ones SCC, VCC and M0.
class Defined {
  public:
    explicit Defined(const MachineFunction& function) : function_(function) {
        for (const VirtualRegister& reg : function.registers) {
            first_.push_back(size_);
            size_ += reg.dwords;
        }
        special_ = size_;
        size_ += 8;
    }
    using Set = std::vector<uint64_t>;

    Result<void> run() {
        std::vector<Set> entered(function_.blocks.size(), Set((size_ + 63) / 64, ~uint64_t{0}));
        entered[0] = at_entry();
        for (bool changed = true; changed;) {
            changed = false;
            for (uint32_t i = 0; i < entered.size(); ++i) {
                Set left = entered[i];
                for (const Instruction& one : function_.blocks[i].code) define(one, left);
                for (uint32_t next : function_.successors(i))
                    for (size_t word = 0; word < left.size(); ++word) {
                        changed |= (entered[next][word] & ~left[word]) != 0;
                        entered[next][word] &= left[word];
                    }
            }
        }
        for (uint32_t i = 0; i < entered.size(); ++i)
            for (const Instruction& one : function_.blocks[i].code) {
                if (auto missing = unread(one, entered[i]); !missing.empty())
                    return wrong("block{}: {}: {} has no value on some way to here", i, to_string(function_, one),
                                 missing);
                define(one, entered[i]);
            }
        return {};
    }

  private:
    Set at_entry() const {
        Set set((size_ + 63) / 64, 0);
        for (uint32_t i = 0; i < function_.registers.size(); ++i)
            if (function_.registers[i].fixed >= 0) add({i, 0, function_.registers[i].dwords}, set);
        return set;
    }
    void add(Place place, Set& set) const {
        for (size_t i = 0; i < place.dwords; ++i) set_bit(first_[place.reg] + place.first + i, set);
    }
    static void set_bit(size_t bit, Set& set) { set[bit / 64] |= uint64_t{1} << bit % 64; }
    static bool has(size_t bit, const Set& set) { return set[bit / 64] >> bit % 64 & 1; }
    bool has(Place place, const Set& set) const {
        for (size_t i = 0; i < place.dwords; ++i)
            if (!has(first_[place.reg] + place.first + i, set)) return false;
        return true;
    }

    /// The implicit registers of isa::implicit that instructions must have written.
    static constexpr uint8_t kTracked = isa::implicit::scc | isa::implicit::vcc | isa::implicit::m0;

    void define(const Instruction& one, Set& set) const {
        for (const Place& place : one.dst)
            if (place) add(place, set);
        uint8_t writes = implicit_writes(function_, one) & kTracked;
        for (size_t i = 0; i < 2; ++i)
            if (!one.dst[i]) writes |= special(one.inst.dst[i]);
        for (uint8_t bits = writes; bits; bits &= static_cast<uint8_t>(bits - 1))
            set_bit(special_ + static_cast<size_t>(std::countr_zero(bits)), set);
    }
    static uint8_t special(const isa::Operand& operand) {
        if (!operand.present()) return 0;
        if ((operand.code | 1) == isa::code::vcc_hi) return isa::implicit::vcc;
        return operand.code == isa::code::m0 ? isa::implicit::m0 : uint8_t{0};
    }

    /// The register that an instruction reads and nothing has written, or "".
    std::string unread(const Instruction& one, const Set& set) const {
        for (const Place& place : one.src)
            if (place && !has(place, set)) return fmt::format("%{}", place.reg);
        if (one.predicate && !has(one.predicate, set)) return fmt::format("the predicate %{}", one.predicate.reg);
        if (one.keeps && one.dst[0] && !has(one.dst[0], set))
            return fmt::format("%{}, which it keeps,", one.dst[0].reg);
        uint8_t reads = implicit_reads(function_, one) & kTracked;
        if (!reads_vcc(function_, one))
            reads &= static_cast<uint8_t>(~isa::implicit::vcc);  // a mask in another register
        if (one.pseudo == Pseudo::none)
            for (size_t i = 0; i < 4; ++i)
                if (!one.src[i]) reads |= special(one.inst.src[i]);
        for (uint8_t bits = reads; bits; bits &= static_cast<uint8_t>(bits - 1))
            if (const auto bit = static_cast<size_t>(std::countr_zero(bits)); !has(special_ + bit, set))
                return std::string(isa::implicit_names(static_cast<uint8_t>(1u << bit)).front());
        return "";
    }

    const MachineFunction& function_;
    std::vector<size_t> first_;
    size_t size_ = 0, special_ = 0;
};

uint8_t kind_of(Bank bank) {
    return bank == Bank::scalar ? isa::kSgpr : bank == Bank::vector ? isa::kVgpr : isa::kAgpr;
}

/// An operand against what its field takes; "" where it fits.
std::string misfit(const MachineFunction& function, Place place, isa::Type type, uint8_t kinds) {
    const VirtualRegister& reg = function.registers[place.reg];
    if (place.first + place.dwords > reg.dwords) return "has fewer dwords";
    if (!kinds && type != isa::Type::lanes) return "is no operand of the instruction";
    if (kinds && !(kinds & kind_of(reg.bank))) return "is of a bank that the field does not take";
    const int wanted = isa::dwords(type, function.wave_size());
    if (wanted && place.dwords != wanted) return fmt::format("has {} dwords where {} are wanted", place.dwords, wanted);
    const int align = alignment(function.family, reg.bank, wanted);
    if (reg.align % align || place.first % align) return fmt::format("is not aligned to {} registers", align);
    return "";
}

/// A global address beside a scalar one is an offset.
isa::Type source_type(const Instruction& one, size_t i) {
    const isa::Row& row = *one.inst.row;
    if (row.format == isa::Format::GLOBAL) {
        const isa::FlatShape shape = isa::flat_shape(row);
        const auto scalar = static_cast<size_t>(shape.saddr);
        if (static_cast<int>(i) == shape.address && (one.src[scalar] || one.inst.src[scalar].present()))
            return isa::Type::u32;
    }
    return row.src[i];
}

Result<void> check_operands(const MachineFunction& function, const Instruction& one) {
    const auto check = [&](Place place, isa::Type type, uint8_t kinds) -> Result<void> {
        if (!place) return {};
        if (place.reg >= function.registers.size()) return wrong("%{} is no register", place.reg);
        if (std::string why = misfit(function, place, type, kinds); !why.empty())
            return wrong("{}: %{} {}", to_string(function, one), place.reg, why);
        return {};
    };
    if (one.predicate) STRATA_TRY_VOID(check(one.predicate, isa::Type::lanes, isa::kSgpr));
    if (one.pseudo == Pseudo::copy) {
        if (!one.dst[0]) return wrong("a copy goes nowhere");
        const int dwords = one.src[0] ? one.src[0].dwords : 1;
        if (one.dst[0].dwords != dwords) return wrong("{}: the sizes differ", to_string(function, one));
        return {};
    }
    const isa::Row& row = *one.inst.row;
    if (one.inst.row_y) return {};
    for (size_t i = 0; i < 2; ++i) STRATA_TRY_VOID(check(one.dst[i], row.dst[i], row.dst_kind[i]));
    // The encoder takes the wide form where the short one does not hold the operands.
    const isa::Row& wide = isa::has_half_registers(row.format) ? widest(function.family, row) : row;
    for (size_t i = 0; i < 4; ++i)
        STRATA_TRY_VOID(
            check(one.src[i], source_type(one, i), static_cast<uint8_t>(row.src_kind[i] | wide.src_kind[i])));
    return {};
}

Result<void> check_flow(const MachineFunction& function) {
    if (function.blocks.empty()) return wrong("there is no code");
    for (const Block& block : function.blocks)
        for (const Instruction& one : block.code)
            if (is_branch(one) && one.target >= function.blocks.size())
                return wrong("{}: there is no such block", to_string(function, one));
    for (size_t i = function.blocks.size(); i-- > 0;) {
        const std::vector<Instruction>& code = function.blocks[i].code;
        if (code.empty()) continue;
        const std::string_view last = code.back().pseudo == Pseudo::none ? code.back().inst.row->mnemonic : "copy";
        if (last != "s_endpgm" && last != "s_branch") return wrong("the code goes on past its last instruction");
        return {};
    }
    return wrong("there is no code");
}

Result<void> verify_virtual(const MachineFunction& function) {
    for (const Block& block : function.blocks)
        for (const Instruction& one : block.code) STRATA_TRY_VOID(check_operands(function, one));
    return Defined(function).run();
}

Result<void> check_overlap(const MachineFunction& function, const Instruction& one) {
    const std::string_view why = must_keep_sources(function.target, *one.inst.row);
    if (why.empty() || !one.inst.dst[0].present()) return {};
    const lint::Access access = lint::access_of(function.target.arch, one.inst, function.wave_size());
    for (const lint::Read& read : access.all_reads())
        if (read.registers.overlaps(access.writes[0].registers))
            return wrong("{} overwrites what it reads ({})", to_string(function, one), why);
    return {};
}

Result<void> check_scalars(const MachineFunction& function) {
    const int wanted = value_of(Workaround::initialised_scalars, function.target);
    const auto ids = static_cast<int>(std::ranges::count(function.workgroup_ids, true));
    if (function.user_sgprs + ids >= wanted) return {};
    return wrong("a launch fills {} scalars, where the chip wants {} ({})", function.user_sgprs + ids, wanted,
                 source_of(Workaround::initialised_scalars));
}

Result<void> verify_placed(const MachineFunction& function) {
    for (size_t i = 0; i < function.blocks.size(); ++i)
        for (const Instruction& one : function.blocks[i].code) {
            if (one.pseudo != Pseudo::none) return wrong("block{}: {}", i, to_string(function, one));
            auto encoded = isa::encode(function.target.arch, one.inst);
            if (!encoded) return wrong("block{}: {}: {}", i, to_string(function, one), encoded.error().message);
            STRATA_TRY_VOID(check_overlap(function, one));
        }
    return {};
}

/// The linter over the finished object: it shares no code with the passes that insert waits and delays.
Result<void> verify_finished(const MachineFunction& function) {
    STRATA_TRY_VOID(check_scalars(function));
    STRATA_TRY(const Lowered lowered, emit(function));
    STRATA_TRY(isa::Bytes bytes, lowered.object(function.target.arch));
    STRATA_TRY(const isa::CodeObject object, isa::CodeObject::parse(std::move(bytes)));
    STRATA_TRY(const std::vector<lint::Finding> found, lint::lint(object, function.program.name));
    if (found.empty()) return {};
    return wrong("{}\n{}", lint::to_line(found[0], object, object.kernels[0]), lowered.assembly);
}

}  // namespace

Result<void> verify(const MachineFunction& function, Check check) {
    STRATA_TRY_VOID(check_flow(function));
    if (check == Check::virtual_) return verify_virtual(function);
    STRATA_TRY_VOID(verify_placed(function));
    return check == Check::finished ? verify_finished(function) : Result<void>();
}

}  // namespace strata::codegen
