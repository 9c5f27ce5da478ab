#include "strata/asm/emu/check/global_races.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "strata/asm/emu/check/private_memory.h"
#include "strata/asm/emu/check/scalar_loads.h"
#include "strata/asm/emu/machine/device_memory.h"
#include "strata/asm/emu/memory/ops.h"

namespace strata::emu {
namespace {

constexpr uint64_t kPageBits = 12;

bool is_global(uint64_t address) { return !is_private(address) && address >> 32 != kSharedAperture; }

/// True if both may be made at the same time.
bool both_atomic(Atomic a, Atomic b) {
    if (a > b) std::swap(a, b);
    if (a == Atomic::no) return false;
    return b != Atomic::maybe || a == Atomic::load;
}

std::string text_of(const std::array<uint32_t, 3>& id) { return fmt::format("({}, {}, {})", id[0], id[1], id[2]); }

}  // namespace

uint32_t GlobalRaces::begin(const std::array<uint32_t, 3>& id) {
    groups_.push_back({id});
    return static_cast<uint32_t>(groups_.size() - 1);
}

/// Times are few: when they run out, what happened is forgotten.
void GlobalRaces::tick() {
    if (++now_ != ~0u) return;
    pages_.clear();
    last_page_ = nullptr;
    last_number_ = ~0ull;
    for (Group& group : groups_) group = {group.id, {}, 0, 0};
    now_ = 1;
    last_heard_ = 0;
}

void GlobalRaces::hand_over(uint32_t number, HandOver what) {
    Group& group = groups_[number];
    if (what == HandOver::acquires) group.acquired = group.heard;
    if (what == HandOver::none || what == HandOver::acquires) return;
    tick();
    // Only the last of the releases counts that nobody can have heard of one by one.
    if (!group.releases.empty() && group.releases.back() > last_heard_)
        group.releases.back() = now_;
    else
        group.releases.push_back(now_);
    if (what == HandOver::listens) group.acquired = group.heard = last_heard_ = now_;
}

bool GlobalRaces::is_ordered(const Touch& other, uint32_t number) const {
    const uint32_t acquired = groups_[number].acquired;
    const std::vector<uint32_t>& releases = groups_[other.group].releases;
    const auto later = std::ranges::upper_bound(releases, acquired);
    return later != releases.begin() && *std::prev(later) > other.when;
}

bool GlobalRaces::races(const Touch& other, const Now& now) const {
    if (!other.group || other.group == now.touch.group || both_atomic(other.atomic(), now.touch.atomic())) return false;
    return !is_ordered(other, now.touch.group);
}

void GlobalRaces::report(const Now& now, int lane, uint64_t address, const Touch& other, bool other_writes) {
    if (const Allocation* const at = memory_.find(address, 1); at && at->of_host) return;
    const uint64_t lanes = lane < 0 ? 0 : 1ull << lane;
    now.moment.report(lint::Kind::global_race, lanes, [&] {
        lint::Finding finding;
        finding.what = fmt::format(
            "the byte at {:#x} is {} here by workgroup {} and was {} by workgroup {}, in no order: {}", address,
            now.writes ? "written" : "read", text_of(groups_[now.touch.group].id), other_writes ? "written" : "read",
            text_of(groups_[other.group].id), memory_.describe(address, 1));
        finding.fix =
            "atomics, or a fence of the device before the one says that it is done and one after the other has "
            "heard of it";
        finding.earlier = other.pc();
        finding.witness = lint::Witness{now.moment.wave.group->id, now.moment.wave.wave_in_group, lanes, address};
        return finding;
    });
}

void GlobalRaces::touch(const Now& now, int lane, uint64_t address, Cell& cell) {
    if (races(cell.write, now)) report(now, lane, address, cell.write, true);
    if (now.writes) {
        for (const Touch& read : cell.reads)
            if (races(read, now)) {
                report(now, lane, address, read, false);
                break;
            }
        // A plain store stays what others race with, whatever its workgroup does to the byte atomically.
        const bool weaker = now.touch.atomic() == Atomic::update && cell.write.group == now.touch.group &&
                            cell.write.atomic() != Atomic::update;
        if (!weaker) cell.write = now.touch;
        return;
    }
    if (cell.reads[0].group != now.touch.group) cell.reads[1] = cell.reads[0];
    cell.reads[0] = now.touch;
}

GlobalRaces::Page& GlobalRaces::page(uint64_t number) {
    if (number == last_number_) return *last_page_;
    std::unique_ptr<Page>& page = pages_[number];
    if (!page) page = std::make_unique<Page>();
    last_number_ = number;
    last_page_ = page.get();
    return *page;
}

void GlobalRaces::lane(const Now& now, int lane, uint64_t first, uint32_t bytes) {
    for (uint64_t address = first, end = first + bytes; address < end;) {
        Page& at = page(address >> kPageBits);
        const auto dword = static_cast<uint32_t>(address >> 2 & 1023);
        const auto count = static_cast<uint32_t>(std::min(4 - address % 4, end - address));
        auto split = at.bytes.empty() ? at.bytes.end() : at.bytes.find(dword);
        if (count == 4 && split == at.bytes.end()) {
            touch(now, lane, address, at.dwords[dword]);
        } else {
            if (split == at.bytes.end()) {
                Cells cells;
                cells.fill(at.dwords[dword]);
                split = at.bytes.emplace(dword, cells).first;
            }
            for (uint32_t i = 0; i < count; ++i) touch(now, lane, address + i, split->second[address % 4 + i]);
        }
        address += count;
    }
}

void GlobalRaces::access(const Moment& moment, uint32_t group, Atomic atomic, bool released) {
    const Op& op = *moment.op;
    const uint32_t flags = moment.row().flags;
    if (atomic == Atomic::maybe && released) atomic = Atomic::update;
    Now now{moment, {group, now_, static_cast<uint32_t>(moment.step.pc)}, (flags & (isa::kStore | isa::kAtomic)) != 0};
    if (op.layout == Layout::scalar_memory) {
        if (!is_plain_scalar(moment.inst())) return;
        const uint64_t address = scalar_address(moment.wave, op.scalar_memory());
        if (is_global(address)) lane(now, -1, address, scalar_bytes(*moment.step.access));
        return;
    }
    const MemoryFields& fields = op.memory();
    if (fields.space == Space::local || fields.space == Space::scratch || fields.space == Space::gds) return;
    if (atomic == Atomic::maybe && fields.bytes > 8) atomic = Atomic::no;
    now.touch.place |= static_cast<uint32_t>(atomic);
    uint64_t addresses[64];
    for (uint64_t left = lane_addresses(&moment.wave, &op, addresses); left; left &= left - 1) {
        const int at = std::countr_zero(left);
        if (is_global(addresses[at])) lane(now, at, addresses[at], fields.bytes);
    }
    if (atomic == Atomic::load || atomic == Atomic::update) groups_[group].heard = last_heard_ = now_;
}

}  // namespace strata::emu
