// dump: what a kernel becomes on the way to machine code, as files.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "strata/asm/isa/inst.h"
#include "strata/asm/isa/print.h"
#include "strata/codegen/driver/dump_p.h"
#include "strata/codegen/linear/opt.h"
#include "strata/codegen/lower/pass_by_name.h"
#include "strata/core/support/settings.h"
#include "strata/core/uop/walk.h"

namespace strata::codegen {
namespace {

namespace fs = std::filesystem;

/// The numbered files of one kernel.
class Files {
  public:
    static Result<Files> make(const std::string& parent, const std::string& kernel) {
        std::error_code error;
        fs::create_directories(parent, error);
        // Kernels may share a name, and threads and processes a folder: who makes a folder has its number.
        for (int number = 0; !error; ++number) {
            const fs::path own = fs::path(parent) / fmt::format("{}_{}", kernel, number);
            if (fs::create_directory(own, error)) return Files(own);
        }
        return make_error(ErrorKind::Usage, "the setting dump names a folder that cannot be written, {}: {}", parent,
                          error.message());
    }
    Result<void> write(std::string_view stage, std::string_view extension, std::string_view text) {
        const fs::path file = folder_ / fmt::format("{:02}_{}.{}", next_++, stage, extension);
        std::ofstream out(file, std::ios::binary);
        out.write(text.data(), static_cast<std::streamsize>(text.size()));
        if (out.flush()) return {};
        return make_error(ErrorKind::Usage, "the setting dump: {} cannot be written", file.string());
    }

  private:
    explicit Files(fs::path folder) : folder_(std::move(folder)) {}
    fs::path folder_;
    int next_ = 0;
};

/// Instructions alone, which assemble to the same bytes: distances of branches are numbers.
std::string assembly_of(const executable::Code& code) {
    const isa::CodeObject& object = *code.object;
    const isa::KernelInfo* const kernel = object.find(code.entry);
    const isa::Segment* const segment = kernel ? object.code_at(kernel->entry_address) : nullptr;
    if (!segment) return "";
    const uint64_t first = kernel->entry_address - segment->address;
    uint64_t end = segment->bytes.size();
    for (const isa::Symbol& symbol : object.symbols)
        if (symbol.address == kernel->entry_address && symbol.size) end = std::min(end, first + symbol.size);
    std::string text = fmt::format("{}:\n", code.entry);
    for (uint64_t at = first; at + sizeof(uint32_t) <= end;) {
        std::array<uint32_t, 3> words{};
        const size_t count = std::min<size_t>(words.size(), (end - at) / sizeof(uint32_t));
        std::memcpy(words.data(), segment->bytes.data() + at, count * sizeof(uint32_t));
        const auto inst = isa::decode(object.arch, std::span(words.data(), count), static_cast<int>(kernel->wave_size));
        text +=
            inst ? fmt::format("  {}\n", isa::print(*inst, object.arch)) : fmt::format("  .long {:#010x}\n", words[0]);
        at += inst ? inst->size : sizeof(uint32_t);
    }
    return text;
}

Result<void> dump_instructions(Files& files, const LinearProgram& program, const Target& target) {
    STRATA_TRY(const std::vector<Stage> stages, instructions_by_pass(program, target));
    for (const Stage& stage : stages) STRATA_TRY_VOID(files.write(stage.name, "mir", stage.text));
    return {};
}

Result<void> dump_stages(Files& files, const Kernel& kernel, const Target& target,
                         const Result<LinearProgram>& program) {
    STRATA_TRY(const std::vector<GraphAfter> graphs, graphs_by_pass(kernel, target));
    for (const GraphAfter& graph : graphs) STRATA_TRY_VOID(files.write(graph.pass, "uops", graph.text));
    if (!program) return program.error();
    return target.route == Route::asm_ ? dump_instructions(files, *program, target) : Result<void>();
}

}  // namespace

Result<void> dump_kernel(const Kernel& kernel, const Target& target, const Result<LinearProgram>& program,
                         const Result<executable::Code>& compiled) {
    STRATA_TRY(Files files, Files::make(settings().dump, kernel.name));
    STRATA_TRY_VOID(files.write("traced", "uops", tree(kernel.sink)));
    if (const Result<void> stages = dump_stages(files, kernel, target, program); !stages)
        return files.write("error", "txt", stages.error().message + "\n");
    if (!compiled) return files.write("error", "txt", compiled.error().message + "\n");
    if (!compiled->text.empty()) STRATA_TRY_VOID(files.write("render", "hip", compiled->text));
    if (!compiled->object || compiled->object->for_nvidia) return {};
    return files.write("assembly", "s", compiled->assembly.empty() ? assembly_of(*compiled) : compiled->assembly);
}

}  // namespace strata::codegen
