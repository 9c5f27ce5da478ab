// emit: placed code -> words, what an object says of them, and their text. Branches get their distances here: 16 bits
// of words, of which relax_branches left none that is longer.
#include <fmt/format.h>

#include <chrono>
#include <set>

#include "strata/asm/isa/print.h"
#include "strata/asm/object/code_object.h"
#include "strata/codegen/lower/emit_p.h"

namespace strata::codegen {
namespace {

class Emitter {
  public:
    explicit Emitter(const MachineFunction& function)
        : function_(function), arch_(function.target.arch), program_(function.program) {}

    Result<Lowered> run(Text text) {
        name_blocks();
        STRATA_TRY_VOID(encode_all());
        STRATA_TRY_VOID(resolve_branches());
        Lowered lowered;
        if (text == Text::yes) {
            const auto start = std::chrono::steady_clock::now();
            STRATA_TRY(lowered.assembly, write_text());
            lowered.text_ms =
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
        }
        lowered.kernel = spec();
        return lowered;
    }

  private:
    struct Line {
        const Instruction* instruction;
        uint32_t word, block;
    };

    void name_blocks() {
        std::set<std::string> taken;
        names_.resize(function_.blocks.size());
        targets_.resize(function_.blocks.size());
        for (size_t i = 0; i < names_.size(); ++i) {
            const std::string& label = function_.blocks[i].label;
            names_[i] = label.empty() ? fmt::format("block{}", i) : label;
            if (!taken.insert(names_[i]).second) taken.insert(names_[i] += fmt::format("_{}", i));
        }
    }

    Result<void> encode_all() {
        size_t count = 0;
        for (const Block& block : function_.blocks) count += block.code.size();
        lines_.reserve(count);
        words_.reserve(3 * count);
        for (uint32_t i = 0; i < function_.blocks.size(); ++i) {
            starts_.push_back(static_cast<uint32_t>(words_.size()));
            for (const Instruction& instruction : function_.blocks[i].code) {
                STRATA_CHECK(instruction.pseudo == Pseudo::none, "{} is left in {}", to_string(function_, instruction),
                             program_.name);
                lines_.push_back({&instruction, static_cast<uint32_t>(words_.size()), i});
                auto encoded = isa::encode(arch_, instruction.inst);
                if (!encoded) return refuse(instruction, encoded.error().message);
                words_.insert(words_.end(), encoded->words.begin(), encoded->words.begin() + encoded->count);
            }
        }
        starts_.push_back(static_cast<uint32_t>(words_.size()));
        return {};
    }

    Result<void> resolve_branches() {
        for (const Line& line : lines_) {
            if (!is_branch(*line.instruction)) continue;
            const uint32_t target = line.instruction->target;
            STRATA_CHECK(target < function_.blocks.size(), "a branch of {} goes to block {}", program_.name, target);
            targets_[target] = true;
            isa::Inst inst = line.instruction->inst;
            inst.offset = static_cast<int32_t>(starts_[target]) - static_cast<int32_t>(line.word + 1);
            if (inst.offset != static_cast<int16_t>(inst.offset))
                return refuse(*line.instruction,
                              fmt::format("{} is {} words away; a branch reaches 32768", names_[target], inst.offset));
            STRATA_TRY(isa::Encoded encoded, isa::encode(arch_, inst));
            words_[line.word] = encoded.words[0];
        }
        return {};
    }

    Result<std::string> write_text() {
        const auto &g = program_.grid, &b = program_.block;
        std::string text = fmt::format("; {} for {}: grid {} x {} x {}, block {} x {} x {}", program_.name,
                                       isa::info(arch_).name, g[0], g[1], g[2], b[0], b[1], b[2]);
        if (program_.lds) text += fmt::format(", {} bytes of local memory", program_.lds);
        text += fmt::format("\n{}:\n", program_.name);
        const std::vector<std::string> operations = listing(program_);
        uint32_t origin = UINT32_MAX, next = 0;
        for (const Line& line : lines_) {
            for (; next <= line.block; ++next)
                if (targets_[next] || !function_.blocks[next].label.empty()) text += names_[next] + ":\n";
            if (line.instruction->origin != origin && line.instruction->origin < operations.size())
                ((text += "    ; ") += operations[line.instruction->origin]) += '\n';
            origin = line.instruction->origin;
            STRATA_TRY(std::string one, print(line));
            ((text += "    ") += one) += '\n';
        }
        for (; next < names_.size(); ++next)
            if (targets_[next]) text += names_[next] + ":\n";
        return text;
    }

    /// As the bytes say: the encoder chose their form.
    Result<std::string> print(const Line& line) const {
        if (is_branch(*line.instruction))
            return fmt::format("{} {}", line.instruction->inst.row->mnemonic, names_[line.instruction->target]);
        const auto words = std::span(words_).subspan(line.word);
        STRATA_TRY(const isa::Inst inst,
                   isa::decode(arch_, words.first(std::min<size_t>(words.size(), 3)), function_.wave_size()));
        return isa::print(inst, arch_);
    }

    isa::KernelSpec spec() {
        isa::KernelSpec spec;
        spec.name = program_.name;
        spec.code = std::move(words_);
        const std::vector<std::string> names = parameter_names(program_);
        const std::vector<executable::ParameterPlace> places = parameter_places(program_);
        for (const executable::ParameterPlace& place : places)
            spec.args.push_back({.offset = place.offset,
                                 .size = place.bytes,
                                 .value_kind = place.number ? "by_value" : "global_buffer",
                                 .name = names[spec.args.size()]});
        spec.kernarg_size = executable::bytes_of(places);
        spec.lds = program_.lds;
        spec.scratch = function_.scratch;
        spec.vgprs = static_cast<uint32_t>(std::max(1, function_.vgprs));
        spec.agprs = static_cast<uint32_t>(function_.agprs);
        spec.sgprs = static_cast<uint32_t>(std::max(1, function_.sgprs));
        spec.wave_size = function_.wave_size();
        spec.workitem_id_dims = function_.workitem_id_dims;
        spec.workgroup_ids = function_.workgroup_ids;
        spec.user_sgprs = static_cast<uint32_t>(function_.user_sgprs);
        spec.max_block = program_.block[0] * program_.block[1] * program_.block[2];
        spec.lines.files = {program_.name + ".uops"};
        uint32_t known = 0;
        for (const Line& line : lines_)
            if (const uint32_t number = source_line(line); number && number != known) {
                spec.lines.rows.push_back({.word = line.word, .file = 0, .line = number});
                known = number;
            }
        return spec;
    }

    /// In the operations as text, or of a user's kernel in its tree.
    uint32_t source_line(const Line& line) const {
        const uint32_t origin = line.instruction->origin;
        if (!program_.places) return origin + 1;
        return origin < program_.ops.size() ? program_.line_of(program_.ops[origin]) : 0;
    }

    Error refuse(const Instruction& instruction, std::string_view why) const {
        return make_error(ErrorKind::Internal, "{}: {}: {}", program_.name, to_string(function_, instruction), why);
    }

    const MachineFunction& function_;
    isa::Arch arch_;
    const LinearProgram& program_;
    std::vector<std::string> names_;
    std::vector<bool> targets_;     ///< blocks that branches go to
    std::vector<uint32_t> starts_;  ///< words before each block
    std::vector<uint32_t> words_;
    std::vector<Line> lines_;
};

}  // namespace

Result<Lowered> emit(const MachineFunction& function, Text text) { return Emitter(function).run(text); }

}  // namespace strata::codegen
