#include "strata/codegen/machine/register_limits.h"

#include <algorithm>

#include "strata/asm/isa/card.h"

namespace strata::codegen {
namespace {

/// The vector units that share a workgroup: those of a WGP (the descriptor's WGP_MODE), of a CU on CDNA.
constexpr int kUnits = 4;

/// Rows of one unit's register file: LLVM's getTotalNumVGPRs.
int file_rows(std::string_view arch, int wave_size) {
    return isa::find_card(arch).value()->unit().registers * 32 / wave_size;
}

}  // namespace

RegisterLimits register_limits(const MachineFunction& function) {
    const isa::ArchInfo& arch = isa::info(function.target.arch);
    const int wave = function.wave_size();
    const auto& block = function.program.block;
    const int threads = static_cast<int>(block[0] * block[1] * block[2]);
    const int waves = std::max((threads + wave - 1) / wave, 1);
    const int waves_per_unit = (waves + kUnits - 1) / kUnits;
    const int granule = wave == 32 ? arch.vgpr_granule32 : arch.vgpr_granule64;
    RegisterLimits limits{.sgprs = arch.sgprs, .file = file_rows(arch.name, wave), .granule = granule};
    limits.most_waves = isa::is_cdna(arch.family) ? 8 : 16;
    limits.total = std::min(limits.file / waves_per_unit / granule * granule, arch.max_vgprs);
    const auto limit = [&](int rows) { limits.total = std::min(limits.total, std::max(rows, 16) / granule * granule); };
    if (function.program.waves) limit(limits.file / function.program.waves);
    if (function.program.registers) limit(function.program.registers);
    limits.vgprs = std::min(limits.total, 256);
    limits.agprs = isa::is_cdna(arch.family) ? std::min(limits.total, 256) : 0;
    return limits;
}

}  // namespace strata::codegen
