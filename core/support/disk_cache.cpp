#include "strata/core/support/disk_cache.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <ctime>
#include <iterator>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "strata/core/support/cache_folder_p.h"
#include "strata/core/support/hash.h"
#include "strata/core/support/mutex.h"
#include "strata/core/support/settings.h"

namespace strata {
namespace {

// An entry: this header, the key, the payload. `checksum` is content_hash of what it is an entry of, key and payload.
struct Header {
    char magic[8];
    uint64_t key_size, payload_size;
    char checksum[32];
};
constexpr char kMagic[8] = {'S', 'T', 'R', 'A', 'T', 'A', 'C', '1'};
constexpr int kTouchAfterSeconds = 3600;  // how stale an entry's time of last use may get
constexpr int kTrimEvery = 256;           // puts of one process between two looks at the size
constexpr int kStaleTemporarySeconds = 3600;
constexpr uint64_t kEntryLimit = uint64_t{256} << 20;  // bytes; a larger file is no entry

constexpr std::string_view kSeal = "a file beside this one";

constexpr std::string_view kNames[] = {
#define CACHE_KIND(name) #name,
#include "strata/core/support/cache_kinds.def"
#undef CACHE_KIND
};

std::string checksum(std::string_view what, std::string_view key, std::string_view payload) {
    return content_hash(fmt::format("{}\n{}{}", what, key, content_hash(payload)));
}

std::string pack(std::string_view what, std::string_view key, std::string_view payload) {
    Header header{};
    std::memcpy(header.magic, kMagic, sizeof kMagic);
    header.key_size = key.size();
    header.payload_size = payload.size();
    std::memcpy(header.checksum, checksum(what, key, payload).data(), sizeof header.checksum);
    std::string entry(reinterpret_cast<const char*>(&header), sizeof header);
    return entry.append(key).append(payload);
}

std::optional<std::string> unpack(std::string_view entry, std::string_view what, std::string_view key) {
    Header header;
    if (entry.size() < sizeof header) return std::nullopt;
    std::memcpy(&header, entry.data(), sizeof header);
    std::string_view rest = entry.substr(sizeof header);
    if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || header.key_size != key.size() ||
        rest.size() < key.size() || header.payload_size != rest.size() - key.size() ||
        rest.substr(0, key.size()) != key)
        return std::nullopt;
    std::string_view payload = rest.substr(key.size());
    if (checksum(what, key, payload) != std::string_view(header.checksum, sizeof header.checksum)) return std::nullopt;
    return std::string(payload);
}

/// Marks an entry as used, so that trimming spares it; not on every read, which would write to the disk each time.
void touch(const Folder& folder, const std::string& name) {
    if (auto entry = folder.status(name); entry && time(nullptr) - entry->st_mtime > kTouchAfterSeconds)
        folder.touch(name);
}

/// Plain files verified in this process: path -> size and time of change, so that large ones are not read every time.
Mutex verified_mutex;
std::unordered_map<std::string, std::string> verified;

std::string stamp(const Folder& folder, const std::string& name) {
    auto entry = folder.status(name);
    if (!entry) return {};
    return fmt::format("{}.{}.{}.{}", entry->st_ino, entry->st_size, entry->st_ctim.tv_sec, entry->st_ctim.tv_nsec);
}

std::optional<std::string> verified_file(const Folder& folder, std::string_view key) {
    const std::string file = content_hash(key), path = folder.path(file), now = stamp(folder, file);
    if (now.empty()) return std::nullopt;
    {
        std::lock_guard lock(verified_mutex);
        if (auto known = verified.find(path); known != verified.end() && known->second == now) return path;
    }
    auto seal = folder.read(file + ".sum", kEntryLimit), payload = folder.read(file, kEntryLimit);
    if (!seal || !payload || unpack(*seal, kSeal, key) != content_hash(*payload)) {
        folder.remove(file);
        return std::nullopt;
    }
    touch(folder, file);
    touch(folder, file + ".sum");
    std::lock_guard lock(verified_mutex);
    verified[path] = stamp(folder, file);
    return path;
}

/// Writers of one key may differ in bytes (a compiler's time stamps). The file last renamed must match its seal, so a
/// reader that finds a mismatch rebuilds. Equal bytes, the usual case, never mismatch.
std::optional<std::string> write_sealed(const Folder& folder, std::string_view key, std::string_view payload) {
    const std::string file = content_hash(key);
    if (!folder.write(file + ".sum", pack(kSeal, key, content_hash(payload))) || !folder.write(file, payload))
        return std::nullopt;
    std::lock_guard lock(verified_mutex);
    verified[folder.path(file)] = stamp(folder, file);
    return folder.path(file);
}

std::optional<Folder> child(const Result<Folder>& layout, CacheKind kind) {
    if (!layout) return std::nullopt;
    auto folder = layout->child(std::string(name(kind)));
    if (folder) return std::move(*folder);
    tell_of_unused_cache(folder.error().message);
    return std::nullopt;
}

/// An entry that trimming may drop.
struct Entry {
    time_t used;
    uint64_t size;
    size_t folder;
    std::string name;
};

/// The entries of one folder; files that a killed process left on their way are removed.
void list_entries(const Folder& folder, size_t index, std::vector<Entry>& entries) {
    for (std::string& name : names_in(folder.fd())) {
        CacheFile kind = kind_of_cache_file(name);
        auto entry = kind == CacheFile::foreign ? std::nullopt : folder.status(name);
        if (!entry) continue;
        if (kind == CacheFile::entry)
            entries.push_back({entry->st_mtime, static_cast<uint64_t>(entry->st_size), index, std::move(name)});
        else if (time(nullptr) - entry->st_mtime > kStaleTemporarySeconds)
            folder.remove(name);
    }
}

}  // namespace

std::string_view name(CacheKind kind) { return kNames[static_cast<size_t>(kind)]; }

DiskCache::DiskCache(std::string folder, uint64_t capacity) : folder_(std::move(folder)), capacity_(capacity) {}

DiskCache DiskCache::of_settings() {
    const Settings& now = settings();
    if (!now.no_cache && now.cache_dir.empty()) tell_of_unused_cache("there is no home folder to keep it in");
    return DiskCache(now.no_cache || !now.dump.empty() ? std::string() : now.cache_dir);
}

std::optional<Folder> DiskCache::open(CacheKind kind) const {
    return enabled() ? child(open_cache(folder_), kind) : std::nullopt;
}

std::optional<std::string> DiskCache::get(CacheKind kind, std::string_view key) const {
    auto folder = open(kind);
    if (!folder) return std::nullopt;
    const std::string file = content_hash(key);
    auto entry = folder->read(file, kEntryLimit);
    auto payload = entry ? unpack(*entry, name(kind), key) : std::nullopt;
    if (payload)
        touch(*folder, file);
    else
        folder->remove(file);
    return payload;
}

void DiskCache::put(CacheKind kind, std::string_view key, std::string_view payload) const {
    auto folder = open(kind);
    if (!folder) return;
    folder->write(content_hash(key), pack(name(kind), key, payload));
    static std::atomic<int> puts{0};
    if (puts++ % kTrimEvery == 0) trim();
}

std::optional<std::string> DiskCache::get_file(CacheKind kind, std::string_view key) const {
    if (auto folder = open(kind))
        if (auto path = verified_file(*folder, key)) return path;
    auto own = child(open_process_cache(), kind);
    return own ? verified_file(*own, key) : std::nullopt;
}

std::optional<std::string> DiskCache::put_file(CacheKind kind, std::string_view key, std::string_view payload) const {
    if (auto folder = open(kind))
        if (auto path = write_sealed(*folder, key, payload)) return path;
    auto own = child(open_process_cache(), kind);
    return own ? write_sealed(*own, key, payload) : std::nullopt;
}

void DiskCache::trim() const {
    if (!enabled()) return;
    auto layout = open_cache(folder_);
    if (!layout) return;
    std::vector<Folder> folders;
    std::vector<Entry> entries;
    for (size_t kind = 0; kind < std::size(kNames); ++kind) {
        if (!layout->has(std::string(kNames[kind]))) continue;
        if (auto folder = child(layout, static_cast<CacheKind>(kind))) {
            list_entries(*folder, folders.size(), entries);
            folders.push_back(std::move(*folder));
        }
    }
    uint64_t total = 0;
    for (const Entry& entry : entries) total += entry.size;
    if (total <= capacity_) return;
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
    for (const Entry& entry : entries) {
        if (total <= capacity_ / 10 * 9) break;
        if (folders[entry.folder].remove(entry.name)) total -= entry.size;
    }
}

}  // namespace strata
