// strength_reduce: strength reduction. A base address with a constant stride is advanced in each iteration instead of
// recomputed.
// Before:  r0: s_lshl_b32 %s4, %s3, 9               After:      s_lshl_b32 %s4, %s3, 9
//              s_lshl2_add_u32 %s5, %s4, %s0                    s_lshl2_add_u32 %s5, %s4, %s0
//              s_addc_u32 %s5[1], %s0[1], 0                     s_addc_u32 %s5[1], %s0[1], 0
//              global_load_b32 %v6, %v1, %s5            r0: global_load_b32 %v6, %v1, %s5
//              ...                                          ...
//              s_add_u32 %s3, %s3, 1                        s_add_u32 %s5, %s5, 0x800; s_addc_u32 %s5[1], %s5[1], 0
//              s_cmp_lg_u32 ...; s_cbranch_scc1 r0          s_add_u32 %s3, %s3, 1; s_cmp_lg_u32 ...; s_cbranch_scc1 r0
// Instruction::stride says by how much. Loops of one block, at the end of which a counter steps; where that is fewer
// instructions.
#include <algorithm>
#include <map>
#include <optional>

#include "strata/codegen/machine/builder.h"
#include "strata/codegen/machine/operands.h"
#include "strata/codegen/machine/passes.h"
#include "strata/codegen/machine/unique_defs.h"

namespace strata::codegen {
namespace {

constexpr uint32_t kNoWriter = UINT32_MAX;
/// The counter's step, the test and the branch.
constexpr uint32_t kControl = 3;
/// Bases that a loop keeps in registers.
constexpr size_t kMost = 12;

class WalkAddresses {
  public:
    explicit WalkAddresses(MachineFunction& function) : function_(function) {}

    void run() {
        for (uint32_t b = 1; b + 1 < function_.blocks.size(); ++b)
            if (is_loop(function_, b) && function_.blocks[b].code.size() > kControl) walk(b);
        if (moved_) remove_dead_code(function_);
    }

  private:
    /// How a register is used in the block.
    struct Uses {
        uint32_t writes = 0, reads = 0;
        std::array<uint32_t, 2> writer{kNoWriter, kNoWriter};  ///< of its first two dwords
    };
    struct Base {
        uint32_t uses = 0;
        int32_t stride = 0;
        bool steady = true;
    };

    void walk(uint32_t b) {
        const std::vector<Instruction>& code = function_.blocks[b].code;
        note_uses(code);
        std::map<uint32_t, Base> bases = find_bases(code);
        std::erase_if(bases, [](const auto& one) { return !one.second.steady; });
        do add_makers(code, bases);
        while (drop_read(code, bases));
        if (bases.size() <= kMost && spared(code, bases) > 2 * bases.size()) move(b, bases);
    }

    /// The slice of all bases; those that the loop makes in another way go.
    void add_makers(const std::vector<Instruction>& code, std::map<uint32_t, Base>& bases) {
        slice_.assign(code.size(), false);
        std::erase_if(bases, [&](const auto& one) {
            std::vector<bool> with = slice_;
            if (!add_maker(code, {one.first, 0, 1}, with) || !add_maker(code, {one.first, 1, 1}, with)) return true;
            slice_ = std::move(with);
            return false;
        });
    }

    /// Bases that are read besides, other than by those who make further ones, stay: whether there were such.
    bool drop_read(const std::vector<Instruction>& code, std::map<uint32_t, Base>& bases) const {
        std::map<uint32_t, uint32_t> of_slice;
        for (uint32_t k = 0; k < code.size(); ++k)
            if (slice_[k]) each_read(function_, code[k], [&](Place place) { ++of_slice[place.reg]; });
        return std::erase_if(bases, [&](const auto& one) {
            const auto& [reg, base] = one;
            return base.uses + of_slice[reg] != uses_[reg].reads;
        });
    }

    void note_uses(const std::vector<Instruction>& code) {
        uses_.assign(function_.registers.size(), {});
        for (uint32_t k = 0; k < code.size(); ++k) {
            each_read(function_, code[k], [&](Place place) { ++uses_[place.reg].reads; });
            each_write(code[k], [&](Place place) {
                Uses& uses = uses_[place.reg];
                ++uses.writes;
                for (int i = 0; i < place.dwords && place.first + i < 2; ++i)
                    uses.writer[static_cast<size_t>(place.first + i)] = k;
            });
        }
    }

    /// Pairs of scalars that the block writes dword by dword, and with which only memory instructions work.
    std::map<uint32_t, Base> find_bases(const std::vector<Instruction>& code) const {
        std::map<uint32_t, Base> bases;
        for (const Instruction& one : code) {
            const Place* base = base_of(one);
            if (!base || base->dwords != 2 || function_.registers[base->reg].dwords != 2 ||
                uses_[base->reg].writes != 2 || function_.bank(*base) != Bank::scalar)
                continue;
            const auto [at, first] = bases.try_emplace(base->reg, Base{0, one.stride});
            ++at->second.uses;
            at->second.steady &= one.stride != Instruction::kUnsteady && one.stride == at->second.stride &&
                                 !(base != &one.src[0] && one.src[0] && uses_[one.src[0].reg].writes);
        }
        return bases;
    }

    static const Place* base_of(const Instruction& one) {
        if (one.pseudo != Pseudo::none) return nullptr;
        const isa::Row& row = *one.inst.row;
        if (row.format == isa::Format::SMEM) return &one.src[0];
        if (row.format != isa::Format::GLOBAL) return nullptr;
        return &one.src[row.flags & (isa::kStore | isa::kAtomic) ? 2 : 1];
    }

    /// Adds what a scalar is made of to the slice: false where that is more than the counter and what the loop leaves
    /// alone.
    bool add_maker(const std::vector<Instruction>& code, Place place, std::vector<bool>& slice) const {
        if (place.first > 1) return false;
        const Uses& uses = uses_[place.reg];
        const uint32_t k = uses.writer[place.first];
        if (k == kNoWriter || uses.writes != function_.registers[place.reg].dwords) return false;
        if (slice[k]) return true;
        const Instruction& one = code[k];
        if (one.dst[1] || one.dst[0].dwords != 1 || !is_pure(function_, one)) return false;
        slice[k] = true;
        if (reads_scc(function_, one)) {
            uint32_t carry = k;
            while (carry > 0 && !writes_scc(function_, code[carry - 1])) --carry;
            if (carry == 0 || !code[carry - 1].dst[0] || !add_maker(code, code[carry - 1].dst[0], slice)) return false;
            if (!slice[carry - 1]) return false;
        }
        return std::ranges::all_of(one.src, [&](Place source) {
            if (!source || !uses_[source.reg].writes) return true;
            if (source == counter(code)) return uses_[source.reg].writes == 1 && is_step(code);
            for (int i = 0; i < source.dwords; ++i) {
                if (source.first + i > 1 || function_.bank(source) != Bank::scalar) return false;
                const uint32_t writer = uses_[source.reg].writer[static_cast<size_t>(source.first + i)];
                if (writer == kNoWriter || writer > k || !add_maker(code, source.part(i), slice)) return false;
            }
            return true;
        });
    }

    static Place counter(const std::vector<Instruction>& code) { return code[code.size() - 2].src[0]; }
    static bool is_step(const std::vector<Instruction>& code) {
        const Instruction& step = code[code.size() - kControl];
        return step.dst[0] && step.dst[0] == counter(code) && step.src[0] == counter(code);
    }

    /// Instructions of the slice that nothing else needs.
    size_t spared(const std::vector<Instruction>& code, const std::map<uint32_t, Base>& bases) const {
        std::vector<uint32_t> reads(function_.registers.size());  // by those that are spared, which stand after them
        size_t count = 0;
        for (auto k = static_cast<uint32_t>(code.size()); k-- > 0;) {
            if (!slice_[k]) continue;
            const uint32_t reg = code[k].dst[0].reg;
            if (!bases.contains(reg) && reads[reg] != uses_[reg].reads) continue;
            ++count;
            each_read(function_, code[k], [&](Place place) { ++reads[place.reg]; });
        }
        return count;
    }

    void move(uint32_t b, const std::map<uint32_t, Base>& bases) {
        std::vector<Instruction>& code = function_.blocks[b].code;
        std::map<uint32_t, uint32_t> first;  // what stands for a register in front of the loop
        for (uint32_t k = 0; k < code.size(); ++k) {
            if (!slice_[k]) continue;
            Instruction made = code[k];
            for (Place& source : made.src)
                if (const auto at = source ? first.find(source.reg) : first.end(); at != first.end())
                    source.reg = at->second;
            const auto [at, fresh] = first.try_emplace(made.dst[0].reg);
            if (fresh) at->second = function_.add(Bank::scalar, function_.registers[made.dst[0].reg].dwords).reg;
            made.dst[0].reg = at->second;
            function_.blocks[b - 1].code.push_back(std::move(made));
        }
        for (Instruction& one : code)
            if (const Place* base = base_of(one); base && *base)
                if (const auto at = bases.find(base->reg); at != bases.end())
                    one.src[static_cast<size_t>(base - one.src.data())].reg = first.at(at->first);
        std::vector<Instruction> steps;
        const uint32_t origin = code[code.size() - kControl].origin;
        for (const auto& [reg, base] : bases) {
            const Place low{first.at(reg), 0, 1}, high{first.at(reg), 1, 1};
            steps.push_back(sum("s_add_u32", low, base.stride, origin));
            steps.push_back(sum("s_addc_u32", high, base.stride < 0 ? -1 : 0, origin));
        }
        code.insert(code.end() - kControl, steps.begin(), steps.end());
        moved_ = true;
    }

    Instruction sum(std::string_view name, Place to, int32_t number, uint32_t origin) const {
        Instruction made = instruction_of(*row_of(function_.family, name), origin);
        made.dst[0] = made.src[0] = to;
        const std::optional<uint16_t> code = isa::inline_integer_code(number);
        made.inst.src[1].code = code.value_or(isa::code::literal);
        if (!code) made.inst.literal = static_cast<uint32_t>(number);
        return made;
    }

    MachineFunction& function_;
    std::vector<Uses> uses_;   // of each register in the block
    std::vector<bool> slice_;  // instructions of the block that make bases
    bool moved_ = false;
};

}  // namespace

Result<void> strength_reduce(MachineFunction& function) {
    WalkAddresses(function).run();
    return {};
}

}  // namespace strata::codegen
