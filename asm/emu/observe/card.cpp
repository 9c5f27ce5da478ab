#include "strata/asm/emu/card.h"

#include "strata/asm/emu/observe/model.h"

namespace strata::emu {

Result<Card> find_card(isa::Arch arch, std::string_view name) {
    const Result<const Model*> found = find_model(arch, name);
    if (!found) return found.error();
    const Model& model = **found;
    const double simds = static_cast<double>(model.cus) / model.cus_per_unit() * Model::kSimdsPerUnit;
    return Card{model.name, model.dram_gbs, model.launch_us, model.next_launch_us, simds * model.mhz * 1e6};
}

}  // namespace strata::emu
