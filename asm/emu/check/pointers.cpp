#include "strata/asm/emu/check/pointers.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <new>

#include "strata/asm/emu/check/scalar_loads.h"
#include "strata/asm/emu/machine/device_memory.h"
#include "strata/asm/emu/memory/ops.h"

namespace strata::emu {
namespace {

constexpr uint64_t kWord = 64;

/// Calls with each word of a range, and its bits there, until true.
template <class Take>
bool words_of(uint64_t first, uint64_t end, const Take& take) {
    for (uint64_t word = first / kWord; word * kWord < end; ++word) {
        const uint64_t from = std::max(first, word * kWord) % kWord, to = std::min(end - word * kWord, kWord);
        const uint64_t bits = (to == kWord ? ~0ull : (1ull << to) - 1) & ~0ull << from;
        if (take(word, bits)) return true;
    }
    return false;
}

/// The active lanes, from `first` on, whose accesses cover `bytes` bytes.
uint64_t lanes_of(const Moment& moment, int first, uint64_t bytes) {
    uint64_t lanes = 0, left = moment.exec() & ~0ull << first;
    for (uint64_t n = bytes / moment.op->memory().bytes; n && left; --n, left &= left - 1) lanes |= left & -left;
    return lanes;
}

}  // namespace

Pointers::Bytes::Bytes(uint64_t count)
    : words_(static_cast<uint64_t*>(std::calloc(count / kWord + 1, sizeof(uint64_t)))) {
    if (!words_) throw std::bad_alloc();
}

void Pointers::Bytes::add(uint64_t first, uint64_t end) const {
    words_of(first, end, [&](uint64_t word, uint64_t bits) {
        const std::atomic_ref<uint64_t> at(words_.get()[word]);
        if ((at.load() & bits) != bits) at.fetch_or(bits);
        return false;
    });
}

std::optional<uint64_t> Pointers::Bytes::find(uint64_t first, uint64_t end) const {
    std::optional<uint64_t> found;
    words_of(first, end, [&](uint64_t word, uint64_t bits) {
        const uint64_t both = std::atomic_ref<uint64_t>(words_.get()[word]).load() & bits;
        if (both) found = word * kWord + static_cast<uint64_t>(std::countr_zero(both));
        return both != 0;
    });
    return found;
}

std::unique_ptr<Pointers> Pointers::of(PointerTable& table, std::span<const uint8_t> arguments,
                                       const DeviceMemory& memory, bool in_place) {
    std::unique_ptr<Pointers> made(new Pointers(table, memory, in_place));
    made->find_groups(arguments);
    return made->find_places() ? std::move(made) : nullptr;
}

void Pointers::find_groups(std::span<const uint8_t> arguments) {
    const std::vector<isa::KernelArg>& all = table_.kernel().args;
    for (size_t i = 0; i < all.size(); ++i) {
        uint64_t address = 0;
        if (all[i].value_kind != "global_buffer" || all[i].size != sizeof address ||
            all[i].offset + sizeof address > arguments.size())
            continue;
        std::memcpy(&address, arguments.data() + all[i].offset, sizeof address);
        const Allocation* const at = memory_.find(address, 1);
        if (!at) continue;
        const auto known = std::ranges::find(groups_, at->low, &Group::low);
        Group& group = known == groups_.end() ? groups_.emplace_back(Group{at->low, at->high}) : *known;
        group.pointers.push_back({static_cast<uint16_t>(i), address, all[i].unaliased});
        group.of_dwords = group.of_dwords && address % 4 == 0;
    }
    std::erase_if(groups_, [&](const Group& group) {
        return group.pointers.size() < 2 || !(in_place_ || std::ranges::any_of(group.pointers, &Pointer::alone));
    });
}

/// The instructions that use the pointers; false where none of them can be wrong.
bool Pointers::find_places() {
    if (groups_.empty()) return false;
    std::vector<bool> written(groups_.size());
    for (const auto& [pc, use] : table_.uses())
        for (size_t g = 0; g < groups_.size(); ++g)
            for (size_t p = 0; p < groups_[g].pointers.size(); ++p)
                if (groups_[g].pointers[p].argument == use.argument) {
                    places_.emplace(pc, Place{static_cast<uint32_t>(g), static_cast<uint32_t>(p)});
                    written[g] = written[g] || use.writes;
                }
    std::erase_if(places_, [&](const auto& place) { return !written[place.second.group]; });
    for (size_t g = 0; g < groups_.size(); ++g)
        for (Pointer& pointer : groups_[g].pointers)
            if (written[g]) {
                pointer.read.emplace(groups_[g].high - groups_[g].low);
                pointer.written.emplace(groups_[g].high - groups_[g].low);
            }
    return !places_.empty();
}

std::string Pointers::name(const Pointer& pointer) const {
    const std::string& own = table_.kernel().args[pointer.argument].name;
    return fmt::format("argument {}{}", pointer.argument, own.empty() ? "" : fmt::format(" ({})", own));
}

/// The one instruction that does such by the pointer, if it is one.
std::optional<uint64_t> Pointers::instruction(const Pointer& pointer, bool writes) const {
    std::optional<uint64_t> found;
    for (const auto& [pc, use] : table_.uses())
        if (use.argument == pointer.argument && (writes ? use.writes : use.reads)) {
            if (found) return {};
            found = pc;
        }
    return found;
}

void Pointers::report(const Access& access, int lane, uint64_t address, const Pointer& other, bool written) const {
    const uint64_t lanes = lane < 0 ? 0 : 1ull << lane;
    access.moment.report(lint::Kind::aliased_pointers, lanes, [&] {
        lint::Finding finding;
        const Pointer& only = other.alone ? other : access.by;
        finding.what = fmt::format("the byte at {:#x} is {} here by {}, and the launch {} it by {}: {}", address,
                                   access.writes ? "written" : "read", name(access.by), written ? "wrote" : "read",
                                   name(other), memory_.describe(address, 1));
        finding.fix = fmt::format(
            "other memory for one of them, or a kernel without the promise of {} that no other pointer leads there. "
            "The promise is __restrict__, or .actual_access and .is_restrict of its metadata",
            name(only));
        finding.earlier = instruction(other, written);
        const Wave& wave = access.moment.wave;
        finding.witness = lint::Witness{wave.group->id, wave.wave_in_group, lanes, address};
        return finding;
    });
}

/// A thread notes its own access before it looks for those of others: of two threads one sees what the other did.
void Pointers::touch(const Access& access, int lane, uint64_t first, uint64_t end) const {
    if (access.writes) access.by.written->add(first, end);
    if (in_place_) return;
    if (access.reads) access.by.read->add(first, end);
    for (const Pointer& other : access.group.pointers) {
        if (&other == &access.by || !(other.alone || access.by.alone)) continue;
        const auto written = other.written->find(first, end);
        const auto read = access.writes ? other.read->find(first, end) : std::nullopt;
        if (written || read)
            return report(access, lane, access.group.low + (written ? *written : *read), other, written.has_value());
    }
}

std::optional<Pointers::Access> Pointers::access_of(const Moment& moment) const {
    const auto found = places_.find(moment.step.pc);
    if (found == places_.end()) return {};
    const Group& group = groups_[found->second.group];
    const uint32_t flags = moment.row().flags;
    const bool atomic = flags & isa::kAtomic, stores = flags & isa::kStore;
    return Access{moment, group, group.pointers[found->second.pointer], atomic || !stores, atomic || stores};
}

/// The first dword alone counts of a scalar load that may be wider than what was asked for.
template <class Take>
void Pointers::each(const Access& access, const Take& take) const {
    const auto inside = [&](int lane, uint64_t first, uint64_t end) {
        const auto [low, high] = std::pair(access.group.low, access.group.high);
        first = std::clamp(first, low, high) - low;
        end = std::clamp(end, low, high) - low;
        if (first < end) take(lane, first, end);
    };
    const Moment& moment = access.moment;
    const Op& op = *moment.op;
    if (op.layout == Layout::scalar_memory) {
        if (!is_plain_scalar(moment.inst()) || !access.group.of_dwords) return;
        const uint64_t address = scalar_address(moment.wave, op.scalar_memory());
        const uint32_t bytes = scalar_bytes(*moment.step.access);
        return inside(-1, address, address + (may_be_widened(moment.inst(), bytes) ? 4 : bytes));
    }
    const MemoryFields& fields = op.memory();
    if (fields.space == Space::local || fields.space == Space::scratch || fields.space == Space::gds) return;
    uint64_t addresses[64];
    uint64_t first = 0, end = 0;  // bytes of consecutive lanes
    int lane = 0;
    for (uint64_t left = lane_addresses(&moment.wave, &op, addresses); left; left &= left - 1) {
        const int at = std::countr_zero(left);
        if (addresses[at] != end) {
            inside(lane, first, end);
            first = addresses[at];
            lane = at;
        }
        end = addresses[at] + fields.bytes;
    }
    inside(lane, first, end);
}

void Pointers::access(const Moment& moment) {
    if (const auto access = access_of(moment))
        each(*access, [&](int lane, uint64_t first, uint64_t end) { touch(*access, lane, first, end); });
}

uint64_t Pointers::stale(const Moment& moment) const {
    const auto access = in_place_ ? access_of(moment) : std::nullopt;
    if (!access || !access->reads) return 0;
    uint64_t lanes = 0;
    each(*access, [&](int lane, uint64_t first, uint64_t end) {
        for (const Pointer& other : access->group.pointers)
            if (&other != &access->by && other.written->find(first, end))
                lanes |= lane < 0 ? ~0ull : lanes_of(moment, lane, end - first);
    });
    return lanes;
}

}  // namespace strata::emu
