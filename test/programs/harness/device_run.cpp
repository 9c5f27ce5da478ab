#include "device_run.h"

#include <fmt/format.h>

#include "strata/asm/lint/lint.h"
#include "strata/codegen/driver/compile.h"
#include "strata/core/support/file.h"

namespace programs {
namespace {

using strata::isa::Arch;

class DeviceRun : public Run {
  public:
    DeviceRun(const Machine& machine, std::span<const uint8_t> code_object, strata::emu::Check check)
        : check_(check), gpu_(machine.arch), module_(gpu_.load(code_object).value()) {}

    void* allocate(const void* from, size_t bytes) override {
        strata::emu::DeviceAddress address = gpu_.allocate(bytes).value();
        write(reinterpret_cast<void*>(address), from, bytes);
        return reinterpret_cast<void*>(address);
    }
    void read(void* to, const void* from, size_t bytes) override {
        gpu_.read(to, reinterpret_cast<strata::emu::DeviceAddress>(from), bytes).value();
    }
    void write(void* to, const void* from, size_t bytes) override {
        gpu_.write(reinterpret_cast<strata::emu::DeviceAddress>(to), from, bytes).value();
    }
    void* global(const char* name, void*, size_t) override {
        return reinterpret_cast<void*>(module_->symbol(name).value());
    }
    void run(const char* kernel, const std::function<void()>&, std::span<const uint8_t> arguments, dim3 grid,
             dim3 block) override {
        strata::emu::LaunchConfig config;
        config.grid = {grid.x, grid.y, grid.z};
        config.block = {block.x, block.y, block.z};
        config.dynamic_lds = static_cast<uint32_t>(dynamic_lds);
        config.max_instructions = 5'000'000;
        config.threads = 1;
        config.timed = false;
        std::vector<strata::lint::Finding> findings;
        config.check = check_;
        config.findings = &findings;
        const std::string symbol = symbol_of(kernel);
        gpu_.launch(*module_, symbol, config, arguments).value();
        for (const strata::lint::Finding& finding : findings)
            failures.push_back(fmt::format("{}: strict mode: {}: {}", symbol, name(finding.kind), text_of(finding)));
    }

  private:
    /// The mangled name of a kernel that is a plain C++ function: _Z, the length of its name, its name, its parameters.
    std::string symbol_of(std::string_view kernel) const {
        std::string start = fmt::format("_Z{}{}", kernel.size(), kernel);
        for (const auto& info : module_->object().kernels)
            if (info.name.starts_with(start)) return info.name;
        return std::string(kernel);
    }

    std::string text_of(const strata::lint::Finding& finding) const {
        const strata::isa::CodeObject& object = module_->object();
        return to_text(finding, object, *object.code_at(object.kernels[0].entry_address));
    }

    strata::emu::Check check_;
    strata::emu::Gpu gpu_;
    std::shared_ptr<strata::emu::Module> module_;
};

std::string text_of(const std::string& file) {
    return strata::read_file(fmt::format("{}/test/programs/{}", STRATA_SOURCE_DIR, file)).value();
}

}  // namespace

std::span<const Machine> machines() {
    static const std::vector<Machine> rows = {
        {"gfx1100", Arch::gfx1100, 32, {}}, {"gfx1100_wave64", Arch::gfx1100, 64, {"-mwavefrontsize64"}},
        {"gfx1201", Arch::gfx1201, 32, {}}, {"gfx942", Arch::gfx942, 64, {}},
        {"gfx90a", Arch::gfx90a, 64, {}},
    };
    return rows;
}

std::string device_source(const std::string& name) {
    constexpr std::string_view include = "#include \"program.h\"\n";
    std::string text = text_of(name + ".cpp");
    text.resize(std::min(text.find("#if HOST"), text.size()));
    text.replace(text.find(include), include.size(), "");
    return text_of("harness/device.h") + fmt::format("#line 1 \"{}.cpp\"\n", name) + text;
}

strata::Result<std::vector<uint8_t>> compile(const std::string& name, const Machine& machine,
                                             const std::string& level) {
    strata::codegen::HipSource source{.text = device_source(name), .kernel = "", .file_name = name + ".cpp"};
    source.options = machine.options;
    source.options.insert(source.options.end(), {level, "-ffp-contract=off"});
    STRATA_TRY(strata::executable::Code compiled, strata::codegen::compile_hip(source, machine.arch));
    return compiled.code_object();
}

std::unique_ptr<Run> make_device_run(const Machine& machine, std::span<const uint8_t> code_object,
                                     strata::emu::Check check) {
    return std::make_unique<DeviceRun>(machine, code_object, check);
}

}  // namespace programs
