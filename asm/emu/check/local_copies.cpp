// local_copies: which loads to local memory may not have ended.
#include "strata/asm/emu/check/local_copies.h"

#include <algorithm>

#include "strata/asm/lint/wait_fields.h"

namespace strata::emu {

void LocalCopies::add(const Moment& moment, uint32_t first) {
    const uint16_t counters = moment.step.access->counters;
    copies_.push_back({.wave = moment.wave.wave_in_group,
                       .pc = moment.step.pc,
                       .lanes = moment.exec(),
                       .name = moment.row().mnemonic,
                       .first = first,
                       .counter = static_cast<uint16_t>(counters & -counters)});
}

std::vector<LocalCopies::Copy> LocalCopies::step(const Moment& moment) {
    const uint32_t wave = moment.wave.wave_in_group;
    const uint16_t counters = moment.step.access->counters;
    for (Copy& copy : copies_) copy.younger += copy.wave == wave && counters & copy.counter;
    std::vector<Copy> ended;
    const isa::Family family = isa::info(moment.wave.group->launch->program->arch()).family;
    for (const lint::WaitField& field : lint::kWaitFields) {
        if (!field.families.has(family) || field.mnemonic != moment.row().mnemonic) continue;
        const uint32_t left = lint::count_in(field, static_cast<uint32_t>(moment.inst().offset));
        const auto ends = [&](const Copy& copy) {
            return copy.wave == wave && copy.counter == field.counter && left < lint::most(field) &&
                   copy.younger >= left;
        };
        std::ranges::copy_if(copies_, std::back_inserter(ended), ends);
        std::erase_if(copies_, ends);
    }
    return ended;
}

const LocalCopies::Copy* LocalCopies::to(uint32_t first, uint32_t bytes) const {
    for (const Copy& copy : copies_)
        for (uint32_t byte = first; byte < first + bytes; ++byte) {
            const uint32_t lane = (byte - copy.first) / 4;
            if (byte >= copy.first && lane < 64 && copy.lanes >> lane & 1) return &copy;
        }
    return nullptr;
}

}  // namespace strata::emu
