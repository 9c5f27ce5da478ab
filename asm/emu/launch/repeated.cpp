#include "strata/asm/emu/launch/repeated.h"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "strata/asm/emu/machine/device_memory.h"
#include "strata/core/process/memory_file.h"

namespace strata::emu {
namespace {

constexpr size_t kMostMaps = 4096;             // of a block; a process has some tens of thousands
constexpr size_t kFile = size_t{1} << 19;      // bytes that a file has at least, so that maps are few
constexpr size_t kMostKept = size_t{4} << 20;  // bytes of a pattern whose file is kept

/// A file in memory with these bytes, some times; -1: the host has none.
int file_of(std::span<const uint8_t> bytes, size_t times = 1) {
    constexpr size_t kTogether = 64;
    const int file = make_memory_file(kDeviceMemoryFile);
    for (size_t done = 0, all = times * bytes.size(); file >= 0 && done < all;) {
        std::array<iovec, kTogether> parts;
        size_t count = 0;
        for (size_t at = done; at < all && count < kTogether; at += parts[count++].iov_len) {
            const size_t from = at % bytes.size();
            parts[count] = {const_cast<uint8_t*>(bytes.data()) + from, bytes.size() - from};
        }
        const ssize_t now = writev(file, parts.data(), static_cast<int>(count));
        if (now <= 0) {
            close(file);
            return -1;
        }
        done += static_cast<size_t>(now);
    }
    return file;
}

void own_pages(uint64_t address, size_t bytes) {
    void* const at = reinterpret_cast<void*>(address);
    mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    madvise(at, bytes, MADV_HUGEPAGE);
}

}  // namespace

void RepeatedPages::forget_pattern() {
    if (last_.file < 0) return;
    munmap(last_.bytes, last_.size);
    close(last_.file);
    last_ = {};
}

int RepeatedPages::file_of_pattern(std::span<const uint8_t> pattern) {
    if (last_.pattern == pattern.size() && memcmp(last_.bytes, pattern.data(), pattern.size()) == 0) return last_.file;
    const size_t times = std::max<size_t>(1, kFile / pattern.size()), size = times * pattern.size();
    const int file = file_of(pattern, times);
    if (file < 0) return -1;
    void* const bytes = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
    if (bytes == MAP_FAILED) {
        close(file);
        return -1;
    }
    forget_pattern();
    last_ = {file, static_cast<uint8_t*>(bytes), size, pattern.size()};
    return file;
}

/// How many bytes show the file now.
size_t RepeatedPages::map(uint64_t address, size_t bytes, std::span<const uint8_t> pattern) {
    const size_t whole = bytes / DeviceMemory::kPage * DeviceMemory::kPage, least = std::max(kFile, pattern.size());
    if (address % DeviceMemory::kPage || pattern.empty() || pattern.size() % DeviceMemory::kPage || whole <= least)
        return 0;
    if (whole / least >= kMostMaps) return 0;
    const int file = file_of_pattern(pattern);
    if (file < 0) return 0;
    size_t done = 0;
    while (done < whole) {
        const size_t now = std::min(last_.size, whole - done);
        void* const at = reinterpret_cast<void*>(address + done);
        if (mmap(at, now, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE, file, 0) == MAP_FAILED) break;
        done += now;
    }
    if (last_.size > kMostKept) forget_pattern();
    if (done) mapped_[address] = {whole};
    if (done < whole) own_pages(address + done, whole - done);
    return done;
}

void RepeatedPages::fill(uint64_t address, size_t bytes, std::span<const uint8_t> pattern) {
    for (size_t done = map(address, bytes, pattern); done < bytes;) {
        const size_t from = done % pattern.size(), now = std::min(pattern.size() - from, bytes - done);
        memcpy(reinterpret_cast<void*>(address + done), pattern.data() + from, now);
        done += now;
    }
}

void RepeatedPages::release(uint64_t address) {
    const auto found = mapped_.find(address);
    if (found == mapped_.end()) return;
    own_pages(address, found->second.bytes);
    if (found->second.file >= 0) close(found->second.file);
    mapped_.erase(found);
}

int RepeatedPages::share(uint64_t address, size_t bytes) {
    if (const auto found = mapped_.find(address); found != mapped_.end() && found->second.file >= 0)
        return found->second.file;
    void* const at = reinterpret_cast<void*>(address);
    const size_t whole = (bytes + DeviceMemory::kPage - 1) / DeviceMemory::kPage * DeviceMemory::kPage;
    const int file = file_of({static_cast<const uint8_t*>(at), whole});
    if (file < 0) return -1;
    if (!fix_size(file) || mmap(at, whole, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_SHARED, file, 0) == MAP_FAILED) {
        close(file);
        return -1;
    }
    mapped_[address] = {whole, file};
    return file;
}

}  // namespace strata::emu
