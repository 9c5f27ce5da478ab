// Addresses, and memory that is mapped there: a file in the host's memory, which other processes may map too.
#include "strata/hip/memory/virtual_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <map>
#include <memory>
#include <mutex>

#include "strata/core/process/memory_file.h"
#include "strata/core/support/mutex.h"
#include "strata/hip/api/device_file.h"
#include "strata/hip/api/exports.h"
#include "strata/hip/api/structs.h"
#include "strata/hip/memory/blocks.h"
#include "strata/hip/stream/stream.h"
#include "strata/providers/emulated.h"

namespace strata::hip::library {
namespace {

constexpr size_t kPage = 4096, kHuge = 2u << 20;  // the smallest part that is mapped, and one that is mapped fast
constexpr int kPinned = 1, kOnDevice = 1;         // hipMemAllocationTypePinned, hipMemLocationTypeDevice
enum Handles { no_handles, file_descriptor };     // hipMemAllocationHandleType
enum Access { no_access, may_read = 1, may_write = 3 };

/// Memory that hipMemCreate made, or that came from elsewhere.
struct Physical {
    int file = -1, number = 0, handles = no_handles;
    size_t bytes = 0;
    bool own = true, as_52 = false;
    ~Physical() {
        close(file);
        if (const auto device = device_at(number); own && device) count_used(*device, -static_cast<int64_t>(bytes));
    }
    Physical(int file_, int number_, int handles_, size_t bytes_)
        : file(file_), number(number_), handles(handles_), bytes(bytes_) {}
    Physical(const Physical&) = delete;
};

struct Handle {
    std::shared_ptr<Physical> memory;
    int references = 1;
};
struct Mapping {
    size_t bytes = 0;
    std::shared_ptr<Physical> memory;
    std::map<int, int> access = {};  ///< by device, as the emulator counts
    int most() const {
        int out = no_access;
        for (const auto& [device, one] : access) out |= one;
        return out;
    }
};

struct VirtualMemory {
    Mutex mutex;
    std::map<DevicePtr, size_t> reserved;
    std::map<DevicePtr, Mapping> mapped;
    std::map<void*, Handle> handles;
};
VirtualMemory& all() {
    static auto* own = new VirtualMemory;
    return *own;
}

/// The entry of a map of ranges that an address lies in.
template <class Map, class Bytes>
auto find_in(Map& ranges, DevicePtr at, Bytes&& bytes) {
    auto found = ranges.upper_bound(at);
    if (found == ranges.begin()) return ranges.end();
    --found;
    return at - found->first < bytes(found->second) ? found : ranges.end();
}
auto find_reserved(VirtualMemory& own, DevicePtr at) {
    return find_in(own.reserved, at, [](size_t bytes) { return bytes; });
}
auto find_mapped(VirtualMemory& own, DevicePtr at) {
    return find_in(own.mapped, at, [](const Mapping& one) { return one.bytes; });
}
void* pointer(DevicePtr at) { return reinterpret_cast<void*>(at); }

/// HIP 5.2 orders its members in another way than 5.3: where the one has a kind, the other has what is 0.
bool is_52(const void* properties) {
    return major_version() == 5 && static_cast<const AllocationProperties*>(properties)->kind != kPinned;
}

Code read_properties(const void* given, AllocationProperties& out) {
    if (!given) return hipErrorInvalidValue;
    out = *static_cast<const AllocationProperties*>(given);
    if (is_52(given)) {
        const auto& old = *static_cast<const AllocationProperties52*>(given);
        out = {old.kind, old.handles, old.location, old.of_windows, old.compression, 0, old.usage};
    }
    return out.kind == kPinned && out.location.kind == kOnDevice && device_at(out.location.device)
               ? hipSuccess
               : hipErrorInvalidValue;
}

void* keep(VirtualMemory& own, std::shared_ptr<Physical> memory) {
    void* const handle = memory.get();
    own.handles[handle] = {std::move(memory)};
    return handle;
}

Code reserve(void** out, size_t bytes, size_t align, void* wanted, unsigned long long flags) {
    if (!out || flags) return hipErrorInvalidValue;
    if (bytes == 0 || bytes % kPage || (align & (align - 1)) || bytes + align < bytes) return hipErrorOutOfMemory;
    align = std::max(align, kPage);
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* at = MAP_FAILED;
    if (wanted && address(wanted) % align == 0)
        at = mmap(wanted, bytes, PROT_NONE, kFlags | MAP_FIXED_NOREPLACE, -1, 0);
    if (at == MAP_FAILED) {
        void* const room = mmap(nullptr, bytes + align, PROT_NONE, kFlags, -1, 0);
        if (room == MAP_FAILED) return hipErrorOutOfMemory;
        const DevicePtr low = address(room), first = (low + align - 1) / align * align;
        if (first > low) munmap(room, first - low);
        munmap(pointer(first + bytes), low + align - first);
        at = pointer(first);
    }
    std::lock_guard lock(all().mutex);
    all().reserved[address(at)] = bytes;
    *out = at;
    return hipSuccess;
}

/// True if a mapping shares an address with a range.
bool has_mapped(VirtualMemory& own, DevicePtr low, size_t bytes) {
    const auto next = own.mapped.lower_bound(low + bytes);
    if (next == own.mapped.begin()) return false;
    const auto last = std::prev(next);
    return last->first + last->second.bytes > low;
}

Code free_addresses(void* memory, size_t bytes) {
    VirtualMemory& own = all();
    std::lock_guard lock(own.mutex);
    const auto found = own.reserved.find(address(memory));
    if (!memory || found == own.reserved.end() || found->second != bytes || has_mapped(own, found->first, bytes))
        return hipErrorInvalidValue;
    munmap(memory, bytes);
    own.reserved.erase(found);
    return hipSuccess;
}

Code create(void** out, size_t bytes, const void* given, unsigned long long flags) {
    AllocationProperties p{};
    if (!out || bytes == 0 || bytes % kPage || flags || read_properties(given, p) != hipSuccess)
        return hipErrorInvalidValue;
    if (p.handles != no_handles && p.handles != file_descriptor) return hipErrorNotSupported;
    const int device = *device_at(p.location.device);
    if (bytes > free_bytes(device)) return hipErrorOutOfMemory;
    const int file = make_file(p.location.device, bytes);
    if (file < 0) return hipErrorOutOfMemory;
    count_used(device, static_cast<int64_t>(bytes));
    const auto memory = std::make_shared<Physical>(file, p.location.device, p.handles, bytes);
    memory->as_52 = is_52(given);
    std::lock_guard lock(all().mutex);
    *out = keep(all(), memory);
    return hipSuccess;
}

Code release_handle(void* handle) {
    std::shared_ptr<Physical> last;  // whose end takes locks
    std::lock_guard lock(all().mutex);
    const auto found = all().handles.find(handle);
    if (found == all().handles.end()) return hipErrorInvalidValue;
    if (--found->second.references == 0) {
        last = std::move(found->second.memory);
        all().handles.erase(found);
    }
    return hipSuccess;
}

/// Sets a device's access to a mapping; the host may do what any of them may.
Code permit_device(DevicePtr at, Mapping& mapping, int device, int access) {
    constexpr std::string_view kNone = "mapped memory without permission for this device: hipMemSetAccess gives it";
    mapping.access[device] = access;
    const int most = mapping.most();
    const int protection = (most & may_read ? PROT_READ : 0) | (most == may_write ? PROT_WRITE : 0);
    if (mprotect(pointer(at), mapping.bytes, protection) != 0) return hipErrorOutOfMemory;
    return code_of(permit(device, pointer(at), mapping.bytes, access == no_access ? kNone : "mapped memory",
                          access != no_access, access == may_write),
                   hipErrorInvalidValue);
}

Code map(void* memory, size_t bytes, size_t offset, void* handle, unsigned long long flags) {
    if (!memory || bytes == 0 || bytes % kPage || offset || flags || address(memory) % kPage)
        return hipErrorInvalidValue;
    VirtualMemory& own = all();
    std::lock_guard lock(own.mutex);
    const auto found = own.handles.find(handle);
    const auto range = find_reserved(own, address(memory));
    if (found == own.handles.end() || range == own.reserved.end()) return hipErrorInvalidValue;
    const std::shared_ptr<Physical>& physical = found->second.memory;
    if (bytes > physical->bytes || bytes > range->second - (address(memory) - range->first) ||
        has_mapped(own, address(memory), bytes))
        return hipErrorInvalidValue;
    if (mmap(memory, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, physical->file, 0) == MAP_FAILED)
        return hipErrorOutOfMemory;
    const int device = *device_at(physical->number);
    Mapping& mapping = own.mapped[address(memory)] = {bytes, physical};
    note({address(memory), bytes, device, MemoryKind::mapped, 0});
    return permit_device(address(memory), mapping, device, no_access);
}

void unmap(VirtualMemory& own, std::map<DevicePtr, Mapping>::iterator found,
           std::vector<std::shared_ptr<Physical>>& last) {
    void* const memory = pointer(found->first);
    (void)take_note(found->first);
    for (const auto& [device, access] : found->second.access) (void)emulator().unmap_host(device, memory);
    mmap(memory, found->second.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    last.push_back(std::move(found->second.memory));
    own.mapped.erase(found);
}

/// Calls act(mapping) for all that make up a range together. Error: hipErrorInvalidValue where they do not.
template <class Act>
Code for_mappings(VirtualMemory& own, void* memory, size_t bytes, Act&& act) {
    std::vector<DevicePtr> parts;
    DevicePtr at = address(memory);
    const DevicePtr end = at + bytes;
    while (at < end) {
        const auto found = own.mapped.find(at);
        if (found == own.mapped.end()) return hipErrorInvalidValue;
        parts.push_back(at);
        at += found->second.bytes;
    }
    if (at != end || parts.empty()) return hipErrorInvalidValue;
    for (const DevicePtr part : parts)
        if (const Code code = act(own.mapped.find(part)); code != hipSuccess) return code;
    return hipSuccess;
}

Code unmap_range(void* memory, size_t bytes) {
    std::vector<std::shared_ptr<Physical>> last;
    VirtualMemory& own = all();
    std::lock_guard lock(own.mutex);
    return for_mappings(own, memory, bytes, [&](auto found) {
        unmap(own, found, last);
        return hipSuccess;
    });
}

Code set_access(void* memory, size_t bytes, const AccessDescription* wanted, size_t count) {
    if (!memory || bytes == 0 || !wanted || count == 0) return hipErrorInvalidValue;
    for (size_t i = 0; i < count; ++i) {
        const auto& [location, access] = wanted[i];
        if (location.kind != kOnDevice || !device_at(location.device)) return hipErrorInvalidValue;
        if (access != no_access && access != may_read && access != may_write) return hipErrorInvalidValue;
    }
    VirtualMemory& own = all();
    std::lock_guard lock(own.mutex);
    return for_mappings(own, memory, bytes, [&](auto found) {
        for (size_t i = 0; i < count; ++i) {
            const int device = *device_at(wanted[i].location.device);
            const Code code = permit_device(found->first, found->second, device, wanted[i].access);
            if (code != hipSuccess) return code;
        }
        return hipSuccess;
    });
}

Code get_access(unsigned long long* out, const Location* location, void* memory) {
    if (!out || !location || !memory || location->kind != kOnDevice) return hipErrorInvalidValue;
    const auto device = device_at(location->device);
    VirtualMemory& own = all();
    std::lock_guard lock(own.mutex);
    const auto found = find_mapped(own, address(memory));
    if (!device || found == own.mapped.end()) return hipErrorInvalidValue;
    const auto access = found->second.access.find(*device);
    return set(out, access == found->second.access.end() ? no_access : access->second);
}

/// The memory that a handle means.
std::shared_ptr<Physical> physical_of(void* handle) {
    std::lock_guard lock(all().mutex);
    const auto found = all().handles.find(handle);
    return found == all().handles.end() ? nullptr : found->second.memory;
}

Code tell_properties(void* out, void* handle) {
    const std::shared_ptr<Physical> memory = physical_of(handle);
    if (!memory || !out) return hipErrorInvalidValue;
    const Location location{kOnDevice, memory->number};
    if (memory->as_52)
        *static_cast<AllocationProperties52*>(out) = {0, location, memory->handles, kPinned, 0, nullptr};
    else
        *static_cast<AllocationProperties*>(out) = {kPinned, memory->handles, location, nullptr, 0, 0, 0};
    return hipSuccess;
}

Code retain(void** out, void* memory) {
    if (!out || !memory) return hipErrorInvalidValue;
    VirtualMemory& own = all();
    std::lock_guard lock(own.mutex);
    const auto found = find_mapped(own, address(memory));
    if (found == own.mapped.end()) return hipErrorInvalidValue;
    *out = found->second.memory.get();
    const auto known = own.handles.find(*out);
    if (known != own.handles.end())
        ++known->second.references;
    else
        (void)keep(own, found->second.memory);
    return hipSuccess;
}

Code export_to(void* out, void* handle, int kind, unsigned long long flags) {
    const std::shared_ptr<Physical> memory = physical_of(handle);
    if (!memory || !out || flags || kind != file_descriptor || memory->handles != file_descriptor)
        return hipErrorInvalidValue;
    const int file = fcntl(memory->file, F_DUPFD_CLOEXEC, 0);
    return file < 0 ? hipErrorOutOfMemory : set(static_cast<int*>(out), file);
}

/// Before HIP 7.1 `given` points to the file's number, from there on it is that: no pointer is as small.
Code import_from(void** out, void* given, int kind) {
    constexpr DevicePtr kMostFiles = 1 << 20;
    if (!out || !given || kind != file_descriptor) return hipErrorInvalidValue;
    const int theirs = address(given) < kMostFiles ? static_cast<int>(address(given)) : *static_cast<const int*>(given);
    const std::optional<int> number = device_of_file(theirs);
    struct stat about{};
    if (!number || !device_at(*number) || fstat(theirs, &about) != 0) return hipErrorInvalidValue;
    const int file = fcntl(theirs, F_DUPFD_CLOEXEC, 0);
    if (file < 0) return hipErrorOutOfMemory;
    const auto memory = std::make_shared<Physical>(file, *number, file_descriptor, static_cast<size_t>(about.st_size));
    memory->own = false;
    std::lock_guard lock(all().mutex);
    *out = keep(all(), memory);
    return hipSuccess;
}

}  // namespace

bool is_reserved(const void* memory) {
    std::lock_guard lock(all().mutex);
    return find_reserved(all(), address(memory)) != all().reserved.end();
}

Code check_mapped(const void* memory, size_t bytes, bool writes) {
    VirtualMemory& own = all();
    std::lock_guard lock(own.mutex);
    const DevicePtr begin = address(memory);
    for (size_t done = 0; done < bytes;) {
        const auto found = find_mapped(own, begin + done);
        if (found == own.mapped.end() || !(found->second.most() & (writes ? may_write & ~may_read : may_read)))
            return hipErrorInvalidValue;
        done = found->first + found->second.bytes - begin;
    }
    return hipSuccess;
}

void forget_mapped(int device) {
    std::vector<std::shared_ptr<Physical>> last;
    VirtualMemory& own = all();
    std::lock_guard lock(own.mutex);
    const auto of_device = [&](const Physical& memory) { return device_at(memory.number) == device; };
    for (auto at = own.mapped.begin(); at != own.mapped.end();) {
        const auto found = at++;
        if (of_device(*found->second.memory)) unmap(own, found, last);
    }
    std::erase_if(own.handles, [&](auto& one) {
        if (!of_device(*one.second.memory)) return false;
        last.push_back(std::move(one.second.memory));
        return true;
    });
}

}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipMemAddressReserve(void** memory, size_t bytes, size_t align, void* wanted, unsigned long long flags) {
    return entry("hipMemAddressReserve", [&] { return reserve(memory, bytes, align, wanted, flags); });
}
int hipMemAddressFree(void* memory, size_t bytes) {
    return entry("hipMemAddressFree", [&] { return free_addresses(memory, bytes); });
}
int hipMemCreate(void** handle, size_t bytes, const void* properties, unsigned long long flags) {
    return entry("hipMemCreate", [&] { return create(handle, bytes, properties, flags); });
}
int hipMemRelease(void* handle) {
    return entry("hipMemRelease", [&] { return release_handle(handle); });
}
int hipMemMap(void* memory, size_t bytes, size_t offset, void* handle, unsigned long long flags) {
    return entry("hipMemMap", [&] { return map(memory, bytes, offset, handle, flags); });
}
int hipMemUnmap(void* memory, size_t bytes) {
    return entry("hipMemUnmap", [&] {
        if (const Code code = wait_for_device(current()); code != hipSuccess) return code;
        return unmap_range(memory, bytes);
    });
}
int hipMemSetAccess(void* memory, size_t bytes, const void* descriptions, size_t count) {
    return entry("hipMemSetAccess",
                 [&] { return set_access(memory, bytes, static_cast<const AccessDescription*>(descriptions), count); });
}
int hipMemGetAccess(unsigned long long* access, const void* location, void* memory) {
    return entry("hipMemGetAccess", [&] { return get_access(access, static_cast<const Location*>(location), memory); });
}
int hipMemGetAllocationGranularity(size_t* bytes, const void* properties, int option) {
    return entry("hipMemGetAllocationGranularity", [&] {
        AllocationProperties p{};
        const Code code = read_properties(properties, p);
        if (code != hipSuccess || option < 0 || option > 1) return hipErrorInvalidValue;
        return set(bytes, option == 0 ? kPage : kHuge);  // hipMemAllocationGranularityMinimum, ...Recommended
    });
}
int hipMemGetAllocationPropertiesFromHandle(void* properties, void* handle) {
    return entry("hipMemGetAllocationPropertiesFromHandle", [&] { return tell_properties(properties, handle); });
}
int hipMemRetainAllocationHandle(void** handle, void* memory) {
    return entry("hipMemRetainAllocationHandle", [&] { return retain(handle, memory); });
}
int hipMemExportToShareableHandle(void* shareable, void* handle, int kind, unsigned long long flags) {
    return entry("hipMemExportToShareableHandle", [&] { return export_to(shareable, handle, kind, flags); });
}
int hipMemImportFromShareableHandle(void** handle, void* shareable, int kind) {
    return entry("hipMemImportFromShareableHandle", [&] { return import_from(handle, shareable, kind); });
}
