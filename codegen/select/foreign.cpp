// Instructions as text: assembled with registers that stand for the operands, decoded, and taken into the program.
#include "strata/codegen/select/foreign_p.h"

#include <fmt/format.h>

#include <algorithm>

#include "strata/asm/dsl/assembler.h"
#include "strata/asm/isa/facts.h"
#include "strata/asm/isa/print.h"

namespace strata::codegen {
namespace {

constexpr int kFirst = 2, kMost = 120;  // registers of the assembled text; those of halves are below v128

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

Error refused(std::string_view text, const std::string& why) {
    return make_error(ErrorKind::Assembly, "[inline_asm] '{}' {}", text, why);
}

/// The first register that a line names by itself, or nothing.
std::string_view own_register(std::string_view line) {
    for (size_t at = 0; at < line.size(); ++at) {
        if (at && (is_word(line[at - 1]) || line[at - 1] == '%')) continue;
        size_t end = at;
        while (end < line.size() && is_word(line[end])) ++end;
        const std::string_view word = line.substr(at, end - at);
        const bool tuple = word.size() == 1 && end < line.size() && line[end] == '[';
        const bool number = word.size() > 1 && std::ranges::all_of(word.substr(1), is_digit);
        const bool file = !word.empty() && (word[0] == 'v' || word[0] == 's' || word[0] == 'a');
        if ((file && (tuple || number)) || word == "vcc" || word == "exec" || word == "m0" || word == "vcc_lo" ||
            word == "exec_lo" || word == "scc")
            return word;
    }
    return {};
}

}  // namespace

/// Results, then numbers; tuples start at even registers.
std::vector<ForeignCode::Named> ForeignCode::operands_of(UOp u) {
    std::vector<Named> operands;
    int next = kFirst;
    const auto add = [&](Place place, bool is_result) {
        next += next % 2 && place.dwords > 1;
        operands.push_back({next, place, is_result});
        next += place.dwords;
    };
    for (int i = 0; i < u.dtype().lanes; ++i) add(function_.add(Bank::vector, dwords_of(u.dtype().element())), true);
    for (UOp s : u.src()) add(code_.in_vector(plain(value(s), s.dtype()), dwords_of(s.dtype())), false);
    return operands;
}

Result<void> ForeignCode::run(UOp u) {
    const std::vector<Named> operands = operands_of(u);
    if (operands.back().number + operands.back().place.dwords > kMost)
        return refused(to_string(u.arg(), u.dtype()), fmt::format("has operands of more than {} registers", kMost));
    written_.assign(kMost, false);
    const isa::Arch arch = function_.target.arch;
    std::string_view rest = u.as<ForeignArg>().text;
    while (!rest.empty()) {
        const size_t end = std::min(rest.find('\n'), rest.size());
        const std::string_view line = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (const std::string_view own = own_register(line); !own.empty())
            return refused(line, fmt::format("names the register {}: name operands alone, %0, %1, and so on; a result "
                                             "that nothing reads serves as a temporary",
                                             own));
        std::string text;
        for (size_t at = 0; at < line.size(); ++at) {
            if (line[at] != '%') {
                text += line[at];
                continue;
            }
            size_t number = 0, digits = at + 1;
            for (; digits < line.size() && is_digit(line[digits]) && number < operands.size(); ++digits)
                number = number * 10 + static_cast<size_t>(line[digits] - '0');
            if (digits == at + 1 || number >= operands.size())
                return refused(line,
                               fmt::format("has a % without an operand: there are %0 to %{}", operands.size() - 1));
            const auto& [first, place, is_result] = operands[number];
            text += place.dwords == 1 ? fmt::format("v{}", first)
                                      : fmt::format("v[{}:{}]", first, first + place.dwords - 1);
            at = digits - 1;
        }
        isa::Assembler assembler(arch, function_.wave_size());
        assembler.emit_line(text);
        const Result<std::vector<uint32_t>> words = assembler.words();
        if (!words) return refused(line, fmt::format("is no instruction: {}", words.error().message));
        for (size_t at = 0; at < words->size();) {
            STRATA_TRY(const isa::Inst inst, isa::decode(arch, std::span(*words).subspan(at), function_.wave_size()));
            STRATA_TRY_VOID(add(inst, operands));
            at += inst.size / 4;
        }
    }
    Value out;
    for (size_t i = 0; i < static_cast<size_t>(u.dtype().lanes); ++i) {
        const auto first = written_.begin() + operands[i].number;
        if (std::find(first, first + operands[i].place.dwords, false) != first + operands[i].place.dwords)
            return refused(u.as<ForeignArg>().text, fmt::format("does not write the result %{}", i));
        out.lanes.push_back(Source::of(operands[i].place));
    }
    set(u, u.dtype().lanes == 1 ? out.lanes[0] : out);
    return {};
}

Result<void> ForeignCode::add(const isa::Inst& inst, std::span<const Named> operands) {
    const isa::Family family = function_.family;
    const std::string shown = isa::print(inst, function_.target.arch);
    const bool computes = isa::kFormats[static_cast<size_t>(inst.row->format)].unit == isa::FormatUnit::vector;
    constexpr uint8_t kHarmless = isa::implicit::exec | isa::implicit::mode | isa::implicit::destination;
    const uint8_t reads = isa::implicit_reads(family, inst);
    if (!computes || inst.row_y || (reads & ~kHarmless) || (isa::implicit_writes(family, inst) & ~kHarmless) ||
        isa::implicit_writes(family, inst) & isa::implicit::exec)
        return refused(shown,
                       "does more than compute vector registers from vector registers: memory, scalar registers "
                       "and control flow are the kernel's own");
    const isa::Row& native = *isa::find_row(family, inst.row->mnemonic);  // the encoder chooses the form
    const bool is_short = native.format == isa::Format::VOP1 || native.format == isa::Format::VOP2;
    const isa::Row& row = inst.row->format == isa::Format::VOP3 && is_short ? native : *inst.row;
    Instruction made;
    made.inst = inst;
    made.inst.row = &row;
    made.inst.encoding = row.format;
    const auto place = [&](const isa::Operand& operand) -> const Named* {
        for (const Named& named : operands)
            if (operand.is_vgpr() && operand.vgpr() >= named.number &&
                operand.vgpr() < named.number + named.place.dwords)
                return &named;
        return nullptr;
    };
    const auto part = [&](const Named& named, const isa::Operand& operand) {
        return named.place.part(operand.vgpr() - named.number, isa::dwords(operand.type, function_.wave_size()));
    };
    for (size_t i = 0; i < inst.src.size(); ++i) {
        if (!inst.src[i].present() || !inst.src[i].is_vector()) continue;
        const Named* const named = place(inst.src[i]);
        STRATA_CHECK(named, "{} reads a register that its text does not name", shown);
        made.src[i] = part(*named, inst.src[i]);
        if (named->is_result && !written_[static_cast<size_t>(inst.src[i].vgpr())])
            return refused(shown, "reads a result before it is written");
    }
    for (size_t i = 0; i < inst.dst.size(); ++i) {
        if (!inst.dst[i].present()) continue;
        const Named* const named = place(inst.dst[i]);
        if (!named || !named->is_result) return refused(shown, "writes what is no result: results are %0 and on");
        made.dst[i] = part(*named, inst.dst[i]);
        const auto first = written_.begin() + inst.dst[i].vgpr();
        made.keeps = reads & isa::implicit::destination;
        if (made.keeps && !*first) return refused(shown, "adds to a result that nothing has written");
        std::fill_n(first, made.dst[i].dwords, true);
    }
    Instruction& added = code_.add(row);
    made.origin = added.origin;
    added = made;
    return {};
}

}  // namespace strata::codegen
