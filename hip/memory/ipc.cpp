// Memory and events of other processes on this machine: files of theirs, which a handle names by process and number.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>

#include "strata/core/process/memory_file.h"
#include "strata/core/support/file.h"
#include "strata/core/support/mutex.h"
#include "strata/hip/api/device_file.h"
#include "strata/hip/api/exports.h"
#include "strata/hip/api/structs.h"
#include "strata/hip/memory/blocks.h"
#include "strata/hip/memory/virtual_memory.h"
#include "strata/hip/stream/event.h"
#include "strata/providers/emulated.h"

namespace strata::hip::library {
namespace {

/// hipIpcMemLazyEnablePeerAccess, without which there is nothing; 0 in HIP 5.2.
bool may_open_with(unsigned flags) { return flags == 1 || (flags == 0 && major_version() == 5); }
enum class What : uint32_t { memory = 0x4d495053, event = 0x45495053 };

/// The contents of a handle.
struct Exported {
    What what{};
    int32_t process = 0, file = -1, number = 0;  ///< number: of the device, as the library counts
    uint64_t inode = 0, bytes = 0, offset = 0;
};
static_assert(sizeof(Exported) <= sizeof(IpcHandle));

Code tell_of(void* out, Exported exported, int file) {
    struct stat about{};
    if (fstat(file, &about) != 0) return hipErrorInvalidValue;
    exported.process = getpid();
    exported.file = file;
    exported.inode = about.st_ino;
    auto* const handle = new (out) IpcHandle{};
    std::memcpy(handle->bytes, &exported, sizeof exported);
    return hipSuccess;
}

/// How the names of files of each kind begin.
std::string_view name_of(What what) { return what == What::memory ? kDeviceMemoryFile : kLibraryFile; }

/// The file that a handle means, to be closed. A handle is text that anybody can write, and may name any file that the
/// other process has open. A file that this library made is of this user, in memory, of its name and of a fixed size.
/// Errors: hipErrorInvalidContext in the process that made it; `gone` where that has ended, or has given it back.
Code open_file(const IpcHandle& handle, What what, Exported& exported, int& file, Code gone) {
    std::memcpy(&exported, handle.bytes, sizeof exported);
    if (exported.what != what || !device_at(exported.number)) return hipErrorInvalidValue;
    if (exported.process == getpid()) return hipErrorInvalidContext;
    file = open(fmt::format("/proc/{}/fd/{}", exported.process, exported.file).c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return gone;
    struct stat about{};
    if (fstat(file, &about) == 0 && about.st_ino == exported.inode && is_memory_file(file, name_of(what)))
        return hipSuccess;
    close(file);
    return gone;
}

/// The memory of other processes that is open, by its file there: each once, at one address.
struct Opened {
    DevicePtr start = 0;
    size_t mapped = 0;
    int device = 0, references = 1;
};
struct Imports {
    Mutex mutex;
    std::map<uint64_t, Opened> of_inode;
};
Imports& imports() {
    static auto* all = new Imports;
    return *all;
}

Code get_memory(void* out, void* memory) {
    if (!out) return hipErrorInvalidValue;
    const std::optional<Block> block = block_of(memory);
    if (!block || block->kind != MemoryKind::device) return hipErrorInvalidValue;
    int file = -1;
    const Code code = give(share(block->device, block->start), &file, hipErrorOutOfMemory);
    if (code != hipSuccess) return code;
    return tell_of(out, {What::memory, 0, 0, number_of(block->device), 0, block->bytes, address(memory) - block->start},
                   file);
}

Code map_file(int file, const Exported& exported, Opened& out) {
    constexpr size_t kPage = 4096;
    out = {0, (exported.bytes + kPage - 1) / kPage * kPage, current()};
    struct stat about{};
    if (exported.bytes == 0 || fstat(file, &about) != 0 || static_cast<size_t>(about.st_size) < exported.bytes)
        return hipErrorInvalidValue;
    void* const at = mmap(nullptr, out.mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) return hipErrorOutOfMemory;
    out.start = address(at);
    const Code code =
        code_of(permit(out.device, at, exported.bytes, "memory of another process", true, true), hipErrorInvalidValue);
    if (code == hipSuccess)
        note({out.start, exported.bytes, out.device, MemoryKind::imported});
    else
        munmap(at, out.mapped);
    return code;
}

Code open_memory(void** out, const IpcHandle& handle, unsigned flags) {
    if (!out || !may_open_with(flags)) return hipErrorInvalidValue;
    Exported exported;
    int file = -1;
    if (const Code code = open_file(handle, What::memory, exported, file, hipErrorInvalidDevicePointer);
        code != hipSuccess)
        return code;
    const UniqueFd owned(file);
    if (exported.offset >= exported.bytes) return hipErrorInvalidValue;
    std::lock_guard lock(imports().mutex);
    Code code = hipSuccess;
    const auto known = imports().of_inode.find(exported.inode);
    Opened opened;
    if (known != imports().of_inode.end()) {
        ++known->second.references;
        opened = known->second;
    } else {
        code = map_file(file, exported, opened);
        if (code == hipSuccess) imports().of_inode[exported.inode] = opened;
    }
    if (code == hipSuccess) *out = reinterpret_cast<void*>(opened.start + exported.offset);
    return code;
}

Code close_memory(void* memory) {
    const std::optional<Block> block = block_of(memory);
    if (!block || block->kind != MemoryKind::imported) return hipErrorInvalidValue;
    std::lock_guard lock(imports().mutex);
    for (auto& [inode, opened] : imports().of_inode) {
        if (opened.start != block->start) continue;
        if (--opened.references > 0) return hipSuccess;
        void* const start = reinterpret_cast<void*>(opened.start);
        (void)take_note(opened.start);
        (void)emulator().unmap_host(opened.device, start);
        munmap(start, opened.mapped);
        imports().of_inode.erase(inode);
        return hipSuccess;
    }
    return hipErrorInvalidValue;
}

Code get_event(void* out, void* event) {
    if (!out) return hipErrorInvalidValue;
    std::shared_ptr<SharedEventFile> shared;
    int device = 0;
    const Code code = share_event(event, shared, device);
    return code == hipSuccess ? tell_of(out, {What::event, 0, 0, number_of(device)}, shared->file) : code;
}

Code open_event(void** out, const IpcHandle& handle) {
    if (!out) return hipErrorInvalidValue;
    Exported exported;
    int file = -1;
    if (const Code code = open_file(handle, What::event, exported, file, hipErrorInvalidValue); code != hipSuccess)
        return code;
    Event event{current(), kInterprocess | kNoTiming};
    event.shared = map_event(file);
    if (!event.shared) return hipErrorInvalidValue;
    *out = add_event(std::move(event));
    return hipSuccess;
}

}  // namespace
}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipIpcGetMemHandle(void* handle, void* memory) {
    return entry("hipIpcGetMemHandle", [&] { return get_memory(handle, memory); });
}
int hipIpcOpenMemHandle(void** memory, IpcHandle handle, unsigned flags) {
    return entry("hipIpcOpenMemHandle", [&] { return open_memory(memory, handle, flags); });
}
int hipIpcCloseMemHandle(void* memory) {
    return entry("hipIpcCloseMemHandle", [&] {
        if (const Code code = wait_for_device(current()); code != hipSuccess) return code;
        return close_memory(memory);
    });
}
int hipIpcGetEventHandle(void* handle, void* event) {
    return entry("hipIpcGetEventHandle", [&] { return get_event(handle, event); });
}
int hipIpcOpenEventHandle(void** event, IpcHandle handle) {
    return entry("hipIpcOpenEventHandle", [&] { return open_event(event, handle); });
}
