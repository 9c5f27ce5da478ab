#include "strata/asm/emu/machine/device_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <iterator>

#include "strata/core/process/address_limit.h"
#include "strata/core/support/settings.h"

namespace strata::emu {
namespace {

constexpr uint64_t kRange = 1ull << 40;  // reserved addresses; only touched pages cost memory
constexpr uint64_t kSmallestRange = 1ull << 26;
constexpr size_t kRedZone = 256;             // on both sides of a block
constexpr size_t kStrictRedZone = 16 << 10;  // while strict mode is on: more than an index that is off reaches
constexpr size_t kPage = DeviceMemory::kPage;
constexpr size_t kHuge = 2u << 20;
constexpr size_t kQuarantine = 64u << 20;  // bytes of freed blocks that rest before reuse
constexpr size_t kQuarantineBlocks = 1024;

uint64_t round_up(uint64_t bytes, uint64_t to) { return (bytes + to - 1) / to * to; }

/// How many addresses a device may take: of a limited number half of those left, as compilers, threads and arrays of
/// the host want some.
uint64_t largest_range() {
    const uint64_t limit = address_limit();
    if (limit == 0) return kRange;
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const uint64_t used = std::min(pages * kPage, limit);
    return std::min(kRange, std::bit_floor((limit - used) / 2));
}

Error out_of_addresses(uint64_t wanted, uint64_t range) {
    return make_error(ErrorKind::Device,
                      "out of address space for the emulated GPU's memory: {} bytes wanted, it has {} in all{}", wanted,
                      range, address_limit_note());
}

}  // namespace

DeviceMemory::DeviceMemory(uint64_t capacity) : capacity_(capacity) {
    if (capacity == 0) return;
    for (uint64_t range = largest_range(); range >= kSmallestRange; range /= 2) {
        void* at = mmap(nullptr, range, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED) continue;
        base_ = reinterpret_cast<uint64_t>(at);
        end_ = base_ + range;
        top_ = committed_ = round_up(base_, kHuge);
        break;
    }
}

DeviceMemory::~DeviceMemory() {
    if (base_) munmap(reinterpret_cast<void*>(base_), end_ - base_);
}

Result<void> DeviceMemory::commit(uint64_t end) {
    if (end <= committed_) return {};
    if (end > end_) return out_of_addresses(end - top_, end_ - base_);
    uint64_t to = std::min(round_up(end, 16 * kHuge), end_);
    void* from = reinterpret_cast<void*>(committed_);
    if (mprotect(from, to - committed_, PROT_READ | PROT_WRITE) != 0)
        return make_error(ErrorKind::Device, "the host refuses {} more bytes for the emulated GPU's memory",
                          to - committed_);
    madvise(from, to - committed_, MADV_HUGEPAGE);
    committed_ = to;
    return {};
}

Result<uint64_t> DeviceMemory::take(const FreeRanges::Request& request) {
    if (auto base = free_.take(request)) {
        pooled_ = quarantined_ + free_.kept();
        return *base;
    }
    const uint64_t low = free_.take_last(top_);
    const uint64_t base = request.base_in(low), end = base + request.bytes;
    Result<void> room = commit(end);
    if (!room) {
        free_.add(low, top_ - low, 0);
        return room.error();
    }
    free_.add(low, base - low, 0);
    free_.use(base, request.bytes);
    top_ = end;
    return base;
}

void DeviceMemory::give(Block block) {
    // Labels of the freed ranges go when their addresses become usable again.
    auto it = table_.lower_bound(block.base);
    while (it != table_.end() && it->first < block.base + block.bytes) it = table_.erase(it);
    free_.add(block.base, block.bytes, block.bytes);
    free_.trim(settings().emu_pool_mb << 20);
}

/// The block that was handed out as `address` rests, with the parts of the table that lie in it.
void DeviceMemory::rest(uint64_t address) {
    auto found = blocks_.find(address);
    const Block block = found->second;
    blocks_.erase(found);
    for (auto it = table_.lower_bound(block.base); it != table_.end() && it->first < block.base + block.bytes; ++it)
        it->second.live = false;
    quarantine_.push_back(block);
    quarantined_ += block.bytes;
    while (quarantined_ > kQuarantine || quarantine_.size() > kQuarantineBlocks) {
        Block oldest = quarantine_.front();
        quarantine_.pop_front();
        quarantined_ -= oldest.bytes;
        give(oldest);
    }
    pooled_ = quarantined_ + free_.kept();
}

Result<uint64_t> DeviceMemory::allocate(size_t bytes, std::string_view label, size_t wanted) {
    if (bytes > capacity_ || allocated_ + bytes > capacity_)
        return make_error(ErrorKind::Device,
                          "out of device memory: {} bytes wanted, {} of {} in use; free buffers or use smaller ones",
                          bytes, allocated_, capacity_);
    const size_t room = round_up(std::max<size_t>(bytes, 1), wanted), align = room >= kHuge ? kHuge : wanted;
    const size_t zone = settings().check == "off" ? kRedZone : kStrictRedZone;
    STRATA_TRY(uint64_t base, take({zone + room + zone, zone, align}));
    uint64_t address = base + zone;
    table_[address] = Allocation{address, address + bytes, std::string(label)};
    blocks_[address] = {base, zone + room + zone};
    allocated_ += bytes;
    return address;
}

Result<void> DeviceMemory::free(uint64_t address) {
    auto it = table_.find(address);
    auto block = blocks_.find(address);
    if (block == blocks_.end() || block->second.reserved || it == table_.end() || !it->second.live)
        return make_error(ErrorKind::Usage, "free of {:#x}, which is no live allocation: {}", address,
                          describe(address, 1));
    allocated_ -= it->second.high - it->second.low;
    rest(address);
    return {};
}

Result<uint64_t> DeviceMemory::reserve(size_t bytes) {
    const size_t block = kPage + round_up(bytes, kPage) + kPage;
    STRATA_TRY(uint64_t base, take({block, kPage, kPage}));
    blocks_[base + kPage] = {base, block, true};
    return base + kPage;
}

void DeviceMemory::remove(uint64_t low) { table_.erase(low); }

void DeviceMemory::release(uint64_t base) { rest(base); }

void DeviceMemory::add(Allocation part) {
    uint64_t low = part.low;
    table_[low] = std::move(part);
}

void DeviceMemory::map(uint64_t address, void* host, uint64_t bytes, std::string label) {
    Allocation own{address, address + bytes, std::move(label), true, true, reinterpret_cast<uint64_t>(host) - address};
    own.mapped = true;
    add(std::move(own));
}

bool DeviceMemory::is_mapped(uint64_t address, uint64_t bytes) const {
    const auto found = table_.find(address);
    return found != table_.end() && found->second.mapped && found->second.high == address + bytes;
}

void DeviceMemory::permit(uint64_t address, bool readable, bool writable) {
    Allocation& at = table_.at(address);
    at.closed = !readable;
    at.writable = writable;
}

void DeviceMemory::read_by_launch(uint64_t address, bool read) {
    Allocation& at = table_.at(address);
    at.read_by_launch = read;
    at.writable = !read;
}

bool DeviceMemory::overlaps(uint64_t address, uint64_t bytes) const {
    auto it = table_.lower_bound(address);
    if (it != table_.end() && it->second.low - address < bytes) return true;
    return it != table_.begin() && std::prev(it)->second.high > address;
}

const Allocation* DeviceMemory::find(uint64_t address, size_t bytes) const {
    auto it = table_.upper_bound(address);
    if (it == table_.begin()) return nullptr;
    const Allocation& at = std::prev(it)->second;
    return at.live && !at.closed && address >= at.low && bytes <= at.high - at.low &&
                   address - at.low <= at.high - at.low - bytes
               ? &at
               : nullptr;
}

std::string DeviceMemory::describe(uint64_t address, size_t bytes) const {
    const Allocation* nearest = nullptr;
    uint64_t distance = ~0ull;
    auto consider = [&](const Allocation& at) {
        uint64_t away = address + bytes > at.high ? address + bytes - at.high : address < at.low ? at.low - address : 0;
        if (away < distance) nearest = &at, distance = away;
    };
    auto it = table_.upper_bound(address);
    if (it != table_.end()) consider(it->second);
    if (it != table_.begin()) consider(std::prev(it)->second);
    if (!nearest) return "no device memory is allocated";
    std::string what = fmt::format("{}{} ({} bytes at {:#x})", nearest->live ? "" : "freed ",
                                   nearest->label.empty() ? "allocation" : "allocation '" + nearest->label + "'",
                                   nearest->high - nearest->low, nearest->low);
    if (address < nearest->low) return fmt::format("{} bytes before {}", nearest->low - address, what);
    if (address >= nearest->high) return fmt::format("{} bytes past the end of {}", address - nearest->high, what);
    if (address + bytes > nearest->high)
        return fmt::format("at byte {} of {}, {} bytes too many", address - nearest->low, what,
                           address + bytes - nearest->high);
    return fmt::format("at byte {} of {}", address - nearest->low, what);
}

}  // namespace strata::emu
