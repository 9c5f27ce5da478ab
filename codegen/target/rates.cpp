#include "strata/codegen/target/rates.h"

#include <algorithm>
#include <vector>

#include "strata/asm/isa/facts.h"
#include "strata/asm/isa/row.h"

namespace strata::codegen {
namespace {

Rates in_clocks(const isa::Card& card) {
    const isa::Unit& unit = card.unit();
    const auto bytes = [&](double gigabytes_per_s) { return gigabytes_per_s * 1000 / card.mhz; };
    return {.units = card.cus / unit.cus,
            .cus = unit.cus,
            .waves = unit.waves,
            .registers = unit.registers,
            .issue = unit.issue,
            .l0_bytes = card.l0_bytes,
            .l2_bytes = bytes(card.l2_gbs),
            .llc_bytes = bytes(card.llc_gbs),
            .dram_bytes = bytes(card.dram_gbs),
            .l0_bytes_held = card.l0_kib * 1024,
            .l2_mib = card.l2_mib,
            .llc_mib = card.llc_mib,
            .memory_clocks = card.cycles(card.dram_ns),
            .waves_started = static_cast<double>(card.engines),
            .dies = card.dies};
}

}  // namespace

const isa::Card& card_of(Chip chip) { return *isa::find_card(chip.name()).value(); }

const Rates& rates_of(Chip chip) {
    static const std::vector<Rates> all = [] {
        std::vector<Rates> rates;
        for (Chip each : chips()) rates.push_back(in_clocks(card_of(each)));
        return rates;
    }();
    return all[chip.place()];
}

double memory_clocks(const Rates& rates, double wanted, double first, double of_l2) {
    constexpr double kMiB = 1048576;
    wanted = std::max(wanted, 1.0), first = std::clamp(first, 1.0, wanted);
    const double of_dies = std::min(wanted, first * rates.dies), again = wanted - of_dies;
    const double missed = of_dies - first + again * (1 - std::min(1.0, rates.l2_mib * kMiB / of_dies));
    const double dram = first + missed * (1 - std::min(1.0, rates.llc_mib * kMiB / first));
    return std::max({of_l2 / rates.l2_bytes, (first + missed) / rates.llc_bytes, dram / rates.dram_bytes});
}

double clocks_of(const MatrixShape& shape, const Target& target) {
    if (!target.arch.is_amd())
        return static_cast<double>(shape.m * shape.n * shape.k) / card_of(target.arch).unit().products;
    const isa::Family family = isa::info(target.arch).family;
    const isa::Facts& facts = isa::facts(family, *isa::find_row(family, shape.mnemonic));
    return isa::issue_cycles(family, facts, target.wave_size);
}

}  // namespace strata::codegen
