#pragma once
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <string_view>
#include <vector>

#include "strata/asm/isa/facts.h"
#include "strata/codegen/machine/machine.h"

// An interpreter of machine functions that knows nothing of arithmetic: results are hashes of what an instruction is
// and reads. Moves, counts and branches are exact. It runs the same function before allocation, on virtual registers,
// and after it, on those that the operands name; both must store the same.
namespace strata::codegen::test {

class MachineModel {
  public:
    MachineModel(const MachineFunction& function, bool placed) : function_(function), placed_(placed) {
        base_.push_back(0);
        for (const VirtualRegister& reg : function.registers) base_.push_back(base_.back() + reg.dwords);
        const size_t lanes = static_cast<size_t>(function.wave_size());
        virtual_.assign(base_.back() * lanes, 0);
        physical_.assign(1024 * lanes, placed ? 0xdeadbeef : 0xbaadf00d);
        for (uint32_t reg = 0; reg < function.registers.size(); ++reg)
            for (uint32_t i = 0; i < function.registers[reg].dwords; ++i)
                for (size_t lane = 0; lane < lanes; ++lane) begin(reg, i, lane);
    }

    /// The stored values, in order; empty where the function does not end.
    std::vector<uint64_t> run() {
        uint32_t block = 0;
        for (size_t budget = 2'000'000; block < function_.blocks.size();) {
            uint32_t next = block + 1;
            for (const Instruction& instruction : function_.blocks[block].code) {
                if (--budget == 0) return {};
                if (name(instruction) == "s_endpgm") return log_;
                if (name(instruction) == "s_cbranch_scc1") {
                    if (scc_) next = instruction.target;
                    continue;
                }
                step(instruction);
            }
            block = next;
        }
        return {};
    }

  private:
    static uint64_t mix(uint64_t a, uint64_t b) {
        uint64_t x = (a ^ b) * 0x9e3779b97f4a7c15;
        return std::rotl(x ^ x >> 29, 23) * 0xbf58476d1ce4e5b9;
    }
    static uint64_t text(std::string_view name) {
        uint64_t hash = 17;
        for (char c : name) hash = mix(hash, static_cast<uint8_t>(c));
        return hash;
    }
    size_t lanes() const { return static_cast<size_t>(function_.wave_size()); }
    std::string_view name(const Instruction& instruction) const {
        return instruction.pseudo == Pseudo::copy ? "copy" : instruction.inst.row->mnemonic;
    }

    void begin(uint32_t reg, uint32_t dword, size_t lane) {
        const VirtualRegister& row = function_.registers[reg];
        if (row.fixed < 0) return;
        const size_t code = static_cast<size_t>(row.fixed) + dword;
        // With scratch on gfx90a its base stands in s[2:3].
        const bool moved = function_.scratch && function_.family == isa::Family::cdna2 && code < 128;
        const auto value =
            static_cast<uint32_t>(mix(moved && code >= 4 ? code - 2 : code, row.bank == Bank::scalar ? 0 : lane + 1));
        virtual_[(base_[reg] + dword) * lanes() + lane] = value;
        physical_[code * lanes() + lane] = value;
    }

    /// Where a dword of an operand is, nullptr for a constant.
    uint32_t* at(Place place, const isa::Operand& operand, uint32_t dword, size_t lane) {
        if (place && !placed_)
            return &virtual_[(base_[place.reg] + place.first + dword) * lanes() +
                             (function_.bank(place) == Bank::scalar ? 0 : lane)];
        const bool vector = operand.is_vector(), scalar = operand.code < isa::code::inline_zero;
        if ((!vector && !scalar) || operand.code == isa::code::null) return nullptr;
        return &physical_[(operand.code + dword) * lanes() + (vector ? lane : 0)];
    }
    bool is_vector(Place place, const isa::Operand& operand) const {
        return place ? function_.bank(place) != Bank::scalar : operand.is_vector();
    }
    uint32_t dwords(Place place, const isa::Operand& operand) const {
        return place ? place.dwords : static_cast<uint32_t>(isa::dwords(operand.type, function_.wave_size()));
    }
    uint32_t value(const Instruction& instruction, size_t i, uint32_t dword, size_t lane) {
        const isa::Operand& operand = instruction.inst.src[i];
        if (const uint32_t* there = at(instruction.src[i], operand, dword, lane)) return *there;
        if (operand.is_literal()) return instruction.inst.literal;
        if (isa::is_inline_integer(operand.code)) return static_cast<uint32_t>(isa::inline_integer(operand.code));
        return operand.code;
    }
    bool active(const Instruction& instruction, size_t lane) {
        if (!instruction.predicate) return true;
        isa::Operand mask{
            static_cast<uint16_t>(function_.registers[instruction.predicate.reg].place + instruction.predicate.first),
            isa::Type::lanes};
        return *at(instruction.predicate, mask, static_cast<uint32_t>(lane / 32), 0) >> lane % 32 & 1;
    }

    void step(const Instruction& instruction) {
        const std::string_view what = name(instruction);
        if (what.starts_with("scratch_")) return scratch(instruction);
        if (what == "s_add_i32" || what == "s_add_co_i32" || what == "s_cmp_lt_i32") return count(instruction);
        if (what == "v_writelane_b32") return write_lane(instruction);
        if (what == "v_readlane_b32") {
            *at(instruction.dst[0], instruction.inst.dst[0], 0, 0) =
                value(instruction, 0, 0, value(instruction, 1, 0, 0));
            return;
        }
        const bool moves = what == "copy" || what.starts_with("s_mov") || what.starts_with("v_mov") ||
                           what.starts_with("v_accvgpr") || what == "v_readfirstlane_b32";
        moves ? move(instruction) : compute(instruction, what);
    }

    void move(const Instruction& instruction) {
        const isa::Operand& to = instruction.inst.dst[0];
        const uint32_t count = dwords(instruction.dst[0], to);
        const size_t width = is_vector(instruction.dst[0], to) ? lanes() : 1;
        std::vector<uint32_t> values;
        for (uint32_t i = 0; i < count; ++i)
            for (size_t lane = 0; lane < width; ++lane) values.push_back(value(instruction, 0, i, lane));
        for (uint32_t i = 0; i < count; ++i)
            for (size_t lane = 0; lane < width; ++lane)
                if (active(instruction, lane)) *at(instruction.dst[0], to, i, lane) = values[i * width + lane];
    }

    void count(const Instruction& instruction) {
        const auto a = static_cast<int32_t>(value(instruction, 0, 0, 0));
        const auto b = static_cast<int32_t>(value(instruction, 1, 0, 0));
        if (name(instruction) == "s_cmp_lt_i32") {
            scc_ = a < b;
            return;
        }
        *at(instruction.dst[0], instruction.inst.dst[0], 0, 0) = static_cast<uint32_t>(a) + static_cast<uint32_t>(b);
        scc_ = mix(static_cast<uint32_t>(a), static_cast<uint32_t>(b)) & 1;
    }

    void write_lane(const Instruction& instruction) {
        const uint32_t lane = value(instruction, 1, 0, 0);
        *at(instruction.dst[0], instruction.inst.dst[0], 0, lane) = value(instruction, 0, 0, 0);
    }

    void scratch(const Instruction& instruction) {
        const bool stores = instruction.inst.row->flags & isa::kStore;
        const size_t data = stores ? 1 : 0;
        const Place place = stores ? instruction.src[data] : instruction.dst[0];
        const isa::Operand& operand = stores ? instruction.inst.src[data] : instruction.inst.dst[0];
        const bool based = instruction.inst.src[data + 1].present();
        const uint32_t offset =
            static_cast<uint32_t>(instruction.inst.offset) + (based ? value(instruction, data + 1, 0, 0) : 0);
        EXPECT_LE(offset + 4 * dwords(place, operand), function_.scratch);
        for (uint32_t i = 0; i < dwords(place, operand); ++i)
            for (size_t lane = 0; lane < lanes(); ++lane) {
                uint32_t& cell = scratch_[(offset + 4 * i) * 64 + lane];
                uint32_t& there = *at(place, operand, i, lane);
                if (active(instruction, lane)) (stores ? cell = there : there = cell);
            }
    }

    uint64_t implied(const Instruction& instruction) {
        const uint8_t reads = implicit_reads(function_, instruction);
        uint64_t hash = text(name(instruction));
        if (reads & isa::implicit::scc) hash = mix(hash, scc_);
        bool has_mask = false;
        for (const isa::Operand& operand : instruction.inst.src) has_mask |= operand.type == isa::Type::lanes;
        if (reads & isa::implicit::vcc && !has_mask)
            for (size_t i = 0; i < function_.mask_dwords(); ++i)
                hash = mix(hash, physical_[(isa::code::vcc_lo + i) * lanes()]);
        if (reads & isa::implicit::m0) hash = mix(hash, physical_[isa::code::m0 * lanes()]);
        return mix(hash, static_cast<uint32_t>(instruction.inst.offset));
    }

    enum Space { global, local, spaces };
    static Space space_of(const isa::Row& row) { return row.format == isa::Format::DS ? local : global; }

    void compute(const Instruction& instruction, std::string_view what) {
        const isa::Row& row = *instruction.inst.row;
        uint64_t common = implied(instruction);
        if (what == "s_barrier") return barrier();
        const bool memory = row.flags & isa::kMemory, stores = row.flags & (isa::kStore | isa::kAtomic);
        if (memory) common = mix(common, stores_[space_of(row)]);
        std::vector<uint64_t> hashes(lanes(), common);
        uint64_t all = common;
        for (size_t i = 0; i < 4; ++i) {
            if (!instruction.inst.src[i].present() && !instruction.src[i]) continue;
            for (uint32_t d = 0; d < dwords(instruction.src[i], instruction.inst.src[i]); ++d)
                for (size_t lane = 0; lane < lanes(); ++lane)
                    hashes[lane] = mix(hashes[lane], value(instruction, i, d, lane));
        }
        const bool kept = instruction.keeps || implicit_reads(function_, instruction) & isa::implicit::destination;
        const isa::Operand& to = instruction.inst.dst[0];
        if (kept)
            for (uint32_t d = 0; d < dwords(instruction.dst[0], to); ++d)
                for (size_t lane = 0; lane < lanes(); ++lane)
                    hashes[lane] = mix(hashes[lane], *at(instruction.dst[0], to, d, lane));
        for (size_t lane = 0; lane < lanes(); ++lane)
            if (active(instruction, lane)) all = mix(all, hashes[lane]);
        if (stores) {
            ++stores_[space_of(row)];
            log_.push_back(all);
        }
        if (isa::implicit_writes(function_.family, instruction.inst) & isa::implicit::scc) scc_ = all & 1;
        for (size_t i = 0; i < 2; ++i) write(instruction, i, hashes, all);
    }

    /// Accesses before a barrier stay there.
    void barrier() {
        for (uint64_t& count : stores_) count = mix(count, log_.size());
    }

    void write(const Instruction& instruction, size_t i, const std::vector<uint64_t>& hashes, uint64_t all) {
        const isa::Operand& to = instruction.inst.dst[i];
        if (!to.present() && !instruction.dst[i]) return;
        for (uint32_t d = 0; d < dwords(instruction.dst[i], to); ++d) {
            if (!is_vector(instruction.dst[i], to)) {
                if (uint32_t* there = at(instruction.dst[i], to, d, 0))
                    *there = static_cast<uint32_t>(mix(all, d + 7 * i));
                continue;
            }
            for (size_t lane = 0; lane < lanes(); ++lane)
                if (active(instruction, lane))
                    *at(instruction.dst[i], to, d, lane) = static_cast<uint32_t>(mix(hashes[lane], d + 7 * i));
        }
    }

    const MachineFunction& function_;
    bool placed_;
    std::vector<uint32_t> base_;
    std::vector<uint32_t> virtual_, physical_;  // [unit or code][lane]; of a scalar lane 0 counts
    std::map<uint64_t, uint32_t> scratch_;
    uint64_t stores_[spaces] = {};
    std::vector<uint64_t> log_;
    bool scc_ = false;
};

inline std::vector<uint64_t> run_virtual(const MachineFunction& function) {
    return MachineModel(function, false).run();
}
inline std::vector<uint64_t> run_placed(const MachineFunction& function) { return MachineModel(function, true).run(); }

}  // namespace strata::codegen::test
