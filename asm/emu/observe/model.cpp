#include "strata/asm/emu/observe/model.h"

#include <fmt/ranges.h>

#include <vector>

namespace strata::emu {
namespace {

constexpr Model kModels[] = {
#define MODEL(name, arch, ...) {name, isa::Arch::arch, __VA_ARGS__},
#include "strata/asm/emu/observe/models.def"
#undef MODEL
};

}  // namespace

Result<const Model*> find_model(isa::Arch arch, std::string_view name) {
    std::vector<std::string_view> known;
    for (const Model& model : kModels) {
        if (model.arch != arch) continue;
        if (name.empty() || model.name == name) return &model;
        known.push_back(model.name);
    }
    if (known.empty())
        return make_error(ErrorKind::Unsupported, "the emulator does not run {} yet", isa::info(arch).name);
    return make_error(ErrorKind::Device, "unknown GPU model '{}' for {}; known: {}", name, isa::info(arch).name,
                      fmt::join(known, ", "));
}

}  // namespace strata::emu
