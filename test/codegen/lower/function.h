#pragma once
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>

#include "../linear/kernels.h"
#include "strata/asm/dsl/assembler.h"
#include "strata/asm/isa/print.h"
#include "strata/asm/lint/lint.h"
#include "strata/codegen/lower/emit_p.h"
#include "strata/codegen/machine/workarounds.h"
#include "strata/core/uop/build.h"
#include "strata/core/uop/root.h"

namespace strata::codegen {

/// Passes on placed code, in order.
inline Result<void> finish(MachineFunction& function) {
    for (auto pass :
         {exec_masks, compact, relax_branches, insert_waits, insert_hazards, wait_scalars, form_clauses, insert_delays})
        STRATA_TRY_VOID(pass(function));
    return {};
}

inline constexpr std::array kArchs = {isa::Arch::gfx1100, isa::Arch::gfx1201, isa::Arch::gfx942, isa::Arch::gfx90a};

/// Splits at a character; without blanks around the parts.
inline std::vector<std::string> split(std::string_view text, char at = '\n') {
    std::vector<std::string> parts;
    while (true) {
        const size_t end = text.find(at);
        std::string_view part = text.substr(0, end);
        while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
        while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
        if (!part.empty()) parts.emplace_back(part);
        if (end == text.npos) return parts;
        text.remove_prefix(end + 1);
    }
}

/// The text assembles to the words that the object has.
inline void expect_text_of_object(isa::Arch arch, const Lowered& lowered) {
    isa::Assembler assembler(arch);
    for (const std::string& line : split(lowered.assembly)) assembler.emit_line(line);
    auto words = assembler.words();
    ASSERT_TRUE(words) << words.error().message << lowered.assembly;
    const isa::CodeObject object = isa::CodeObject::parse(lowered.object(arch).value()).value();
    const uint64_t entry = object.kernels[0].entry_address;
    const isa::Segment* code = object.code_at(entry);
    ASSERT_TRUE(code);
    EXPECT_EQ(std::memcmp(code->bytes.data() + (entry - code->address), words->data(), words->size() * 4), 0)
        << lowered.assembly;
}

/// Copies 64 floats from a buffer into another.
inline LinearProgram copying() {
    LinearProgram program{.name = "k"};
    UOp out = param(0, 64), in = param(1, 64);
    UOp t = make(Op::special, dtypes::int32, {}, SpecialArg{true, 0, 64});
    UOp from = at(in, t), to = at(out, t), value = load(from);
    program.ops = {out, in, t, from, value, to, store(to, value)};
    program.params = {out, in};
    program.block = {64, 1, 1};
    return program;
}

/// A function of placed instructions, from text. "label:" begins a block. "predicate s4: " in front of an instruction
/// names the mask of its lanes, "as s4: " the mask of the readers of its result.
struct Function {
    Function(isa::Arch arch, std::string_view text, LinearProgram from = {.name = "k"})
        : program(std::move(from)),
          target(target_of(arch, Route::asm_)),
          code{.program = program, .target = target, .family = isa::info(arch).family} {
        code.workgroup_ids = {true, false, false};
        code.user_sgprs = user_scalars(target, 1);
        code.vgprs = 64;
        code.agprs = isa::is_cdna(code.family) ? 64 : 0;
        code.sgprs = 32;
        const std::vector<std::string> lines = split(text);
        code.blocks.emplace_back();
        for (const std::string& line : lines)
            if (line.back() == ':') {
                if (!code.blocks.back().code.empty()) code.blocks.emplace_back();
                code.blocks.back().label = line.substr(0, line.size() - 1);
                named_[code.blocks.back().label] = static_cast<uint32_t>(code.blocks.size() - 1);
            } else {
                if (!code.blocks.back().code.empty() && is_branch(code.blocks.back().code.back()))
                    code.blocks.emplace_back();
                add(line);
            }
        for (const auto& [block, index, name] : branches_) code.blocks[block].code[index].target = named_.at(name);
    }
    Function(const Function&) = delete;

    /// The instructions as text, a line each, without what encoding adds.
    std::string text() const {
        std::string all;
        for (const Block& block : code.blocks)
            for (const Instruction& instruction : block.code) all += print(instruction) + "\n";
        return all;
    }
    std::string print(const Instruction& instruction) const {
        if (is_branch(instruction))
            return fmt::format("{} block{}", instruction.inst.row->mnemonic, instruction.target);
        auto encoded = isa::encode(target.arch, instruction.inst);
        if (!encoded) return encoded.error().message;
        auto inst = isa::decode(target.arch, std::span(encoded->words).first(static_cast<size_t>(encoded->count)),
                                target.wave_size);
        return inst ? isa::print(*inst, target.arch) : inst.error().message;
    }
    /// The linter's findings in the object, a line each.
    std::string findings() const {
        auto lowered = emit(code);
        if (!lowered) return lowered.error().message;
        const isa::CodeObject object = isa::CodeObject::parse(lowered->object(target.arch).value()).value();
        std::string all;
        const std::vector<lint::Finding> found = lint::lint(object, program.name).value();
        for (const lint::Finding& finding : found) all += lint::to_line(finding, object, object.kernels[0]) + "\n";
        return all;
    }

    LinearProgram program;
    Target target;
    MachineFunction code;

  private:
    void add(std::string_view line) {
        Instruction instruction{};
        for (const std::string_view word : {"predicate ", "as "}) {
            if (!line.starts_with(word)) continue;
            const size_t colon = line.find(':');
            instruction.predicate = mask(line.substr(word.size(), colon - word.size()));
            instruction.as_readers = word == "as ";
            line.remove_prefix(colon + 2);
        }
        const std::string_view mnemonic = line.substr(0, line.find(' '));
        const isa::Row* row = isa::find_row(code.family, mnemonic);
        if (row && row->flags & isa::kBranch) {
            instruction.inst.row = row;
            branches_.emplace_back(code.blocks.size() - 1, code.blocks.back().code.size(),
                                   line.substr(mnemonic.size() + 1));
        } else {
            instruction.inst = parse(line);
        }
        code.blocks.back().code.push_back(instruction);
    }
    isa::Inst parse(std::string_view line) const {
        isa::Assembler assembler(target.arch, target.wave_size);
        assembler.emit_line(line);
        const std::vector<uint32_t> words = assembler.words().value();
        return isa::decode(target.arch, words, target.wave_size).value();
    }
    Place mask(std::string_view name) {
        const auto [known, fresh] = masks_.try_emplace(std::string(name));
        if (fresh) known->second = new_mask(name);
        return known->second;
    }
    Place new_mask(std::string_view name) {
        const int place = name == "vcc" ? isa::code::vcc_lo : std::stoi(std::string(name.substr(1)));
        const Place mask = code.add(Bank::scalar, code.mask_dwords());
        code.registers[mask.reg].place = static_cast<int16_t>(place);
        return mask;
    }

    std::map<std::string, uint32_t, std::less<>> named_;
    std::map<std::string, Place, std::less<>> masks_;
    std::vector<std::tuple<size_t, size_t, std::string>> branches_;
};

}  // namespace strata::codegen
