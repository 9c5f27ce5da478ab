#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <variant>

#include "strata/codegen/machine/machine.h"

// Machine functions written by hand.
namespace strata::codegen::test {

/// A literal where no inline constant fits.
struct Constant {
    int64_t value;
};
/// A register of the machine itself.
struct Fixed {
    uint16_t code;
};
using Argument = std::variant<Place, Constant, Fixed>;

/// A function with what it refers to.
struct Code {
    explicit Code(isa::Arch arch, uint32_t threads = 64)
        : target(target_of(arch, Route::asm_)),
          function{.program = program, .target = target, .family = isa::info(arch).family} {
        program.name = "kernel";
        program.block = {threads, 1, 1};
        function.blocks.emplace_back();
    }
    Code(const Code&) = delete;

    Place vector(int dwords = 1) { return function.add(Bank::vector, dwords); }
    Place scalar(int dwords = 1) { return function.add(Bank::scalar, dwords); }
    Place accumulation(int dwords = 1) { return function.add(Bank::accumulation, dwords); }
    Place mask() { return scalar(function.mask_dwords()); }
    Place fixed(Bank bank, int dwords, int code) {
        const Place place = function.add(bank, dwords);
        function.registers[place.reg].fixed = static_cast<int16_t>(code);
        return place;
    }
    /// The name that the family has for it.
    std::string_view spelled(std::string_view rdna, std::string_view cdna) const {
        return isa::is_cdna(function.family) ? cdna : rdna;
    }

    std::vector<Instruction>& here() { return function.blocks.back().code; }

    Instruction& op(std::string_view mnemonic, const std::vector<Argument>& to, const std::vector<Argument>& from) {
        Instruction made;
        const isa::Row* row = isa::find_row(function.family, mnemonic);
        EXPECT_NE(row, nullptr) << mnemonic;
        made.inst.row = &isa::in_wave(function.family, *row, function.wave_size());
        made.inst.encoding = row->format;
        if (row->format == isa::Format::VOP3P) made.inst.op_sel_hi = 7;
        for (size_t i = 0; i < to.size(); ++i) put(made, to[i], made.dst[i], made.inst.dst[i], made.inst.row->dst[i]);
        for (size_t i = 0; i < from.size(); ++i)
            put(made, from[i], made.src[i], made.inst.src[i], made.inst.row->src[i]);
        here().push_back(made);
        return here().back();
    }
    Instruction& copy(Place to, Argument from) {
        Instruction made;
        made.pseudo = Pseudo::copy;
        made.inst.dst[0].type = isa::Type::b32;
        made.dst[0] = to;
        put(made, from, made.src[0], made.inst.src[0], isa::Type::b32);
        here().push_back(made);
        return here().back();
    }
    /// Stores so that the value counts.
    void store(Place value, Place address) {
        static constexpr std::string_view rdna[] = {"global_store_b32", "global_store_b64", "global_store_b96",
                                                    "global_store_b128"},
                                          cdna[] = {"global_store_dword", "global_store_dwordx2",
                                                    "global_store_dwordx3", "global_store_dwordx4"};
        for (int at = 0; at < value.dwords; at += 4) {
            const int dwords = std::min(4, value.dwords - at);
            const auto size = static_cast<size_t>(dwords - 1);
            op(spelled(rdna[size], cdna[size]), {}, {address, value.part(at, dwords)}).inst.offset = 16 * at;
        }
    }
    void end() { op("s_endpgm", {}, {}); }

    uint32_t begin_block(uint32_t depth) {
        function.blocks.emplace_back().depth = depth;
        return static_cast<uint32_t>(function.blocks.size() - 1);
    }
    /// A loop of `rounds` rounds around what `body` adds.
    template <class Body>
    void loop(int rounds, Body body) {
        const uint32_t depth = function.blocks.back().depth;
        const Place counter = scalar();
        copy(counter, Constant{0});
        const uint32_t head = begin_block(depth + 1);
        body();
        op(function.family == isa::Family::rdna4 ? "s_add_co_i32" : "s_add_i32", {counter}, {counter, Constant{1}});
        op("s_cmp_lt_i32", {}, {counter, Constant{rounds}});
        op("s_cbranch_scc1", {}, {}).target = head;
        begin_block(depth);
    }

    LinearProgram program;
    Target target;
    MachineFunction function;

  private:
    static void put(Instruction& made, const Argument& from, Place& place, isa::Operand& operand, isa::Type type) {
        operand.type = type;
        if (const auto* reg = std::get_if<Place>(&from)) {
            place = *reg;
            if (!place) operand = {};
        } else if (const auto* constant = std::get_if<Constant>(&from)) {
            operand.code = isa::inline_integer_code(constant->value).value_or(isa::code::literal);
            if (operand.is_literal()) made.inst.literal = static_cast<uint32_t>(constant->value);
        } else {
            operand.code = std::get<Fixed>(from).code;
        }
    }
};

}  // namespace strata::codegen::test
