#include "strata/core/support/disk_cache.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "strata/core/support/file.h"
#include "strata/core/support/hash.h"
#include "strata/core/support/settings.h"

namespace strata {
namespace {

namespace fs = std::filesystem;

// An entry: this header, the key, the payload. `checksum` is content_hash of key and payload.
struct Header {
    char magic[8];
    uint64_t key_size, payload_size;
    char checksum[32];
};
constexpr char kMagic[8] = {'S', 'T', 'R', 'A', 'T', 'A', 'C', '1'};
constexpr const char* kLayout = "v1";     // all entries are in this subfolder; only it is ever trimmed
constexpr int kTouchAfterSeconds = 3600;  // how stale an entry's time of last use may get
constexpr int kTrimEvery = 256;           // puts of one process between two looks at the size
constexpr int kStaleTemporarySeconds = 3600;

std::string checksum(std::string_view key, std::string_view payload) {
    return content_hash(std::string(key) + content_hash(payload));
}

std::string pack(std::string_view key, std::string_view payload) {
    Header header{};
    std::memcpy(header.magic, kMagic, sizeof kMagic);
    header.key_size = key.size();
    header.payload_size = payload.size();
    std::memcpy(header.checksum, checksum(key, payload).data(), sizeof header.checksum);
    std::string entry(reinterpret_cast<const char*>(&header), sizeof header);
    return entry.append(key).append(payload);
}

std::optional<std::string> unpack(std::string_view entry, std::string_view key) {
    Header header;
    if (entry.size() < sizeof header) return std::nullopt;
    std::memcpy(&header, entry.data(), sizeof header);
    std::string_view rest = entry.substr(sizeof header);
    if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || header.key_size != key.size() ||
        rest.size() < key.size() || header.payload_size != rest.size() - key.size() ||
        rest.substr(0, key.size()) != key)
        return std::nullopt;
    std::string_view payload = rest.substr(key.size());
    if (checksum(key, payload) != std::string_view(header.checksum, sizeof header.checksum)) return std::nullopt;
    return std::string(payload);
}

/// Marks an entry as used, so that trimming spares it; not on every read, which would write to the disk each time.
void touch(const std::string& path) {
    struct stat entry{};
    if (stat(path.c_str(), &entry) == 0 && time(nullptr) - entry.st_mtime > kTouchAfterSeconds)
        utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
}

/// Plain files verified in this process: path -> size and time of change, so that large ones are not read every time.
std::mutex verified_mutex;
std::unordered_map<std::string, std::string> verified;

std::string stamp(const std::string& path) {
    struct stat entry{};
    if (stat(path.c_str(), &entry) != 0) return {};
    return fmt::format("{}.{}.{}.{}", entry.st_ino, entry.st_size, entry.st_ctim.tv_sec, entry.st_ctim.tv_nsec);
}

/// The folder is there and nobody else can have put entries into it.
bool is_ours(const std::string& folder) {
    struct stat entry{};
    return stat(folder.c_str(), &entry) == 0 && S_ISDIR(entry.st_mode) && entry.st_uid == geteuid();
}

}  // namespace

DiskCache::DiskCache(std::string folder, uint64_t capacity) : capacity_(capacity) {
    if (!folder.empty()) folder_ = fmt::format("{}/{}", folder, kLayout);
}

DiskCache DiskCache::of_settings() {
    const Settings& now = settings();
    return DiskCache(now.no_cache ? std::string() : now.cache_dir);
}

std::string DiskCache::path(std::string_view kind, std::string_view key) const {
    return fmt::format("{}/{}/{}", folder_.empty() ? process_temp_folder() : folder_, kind, content_hash(key));
}

std::optional<std::string> DiskCache::get(std::string_view kind, std::string_view key) const {
    if (!enabled() || !is_ours(folder_)) return std::nullopt;
    std::string file = path(kind, key);
    auto entry = read_file(file);
    if (!entry) return std::nullopt;
    auto payload = unpack(*entry, key);
    if (payload)
        touch(file);
    else
        unlink(file.c_str());
    return payload;
}

bool DiskCache::make_folder(std::string_view kind) const {
    if (!enabled()) return false;
    make_private_folder(folder_.substr(0, folder_.rfind('/')));
    return make_private_folder(folder_) && make_private_folder(fmt::format("{}/{}", folder_, kind));
}

void DiskCache::put(std::string_view kind, std::string_view key, std::string_view payload) const {
    if (!make_folder(kind)) return;
    write_file_atomically(path(kind, key), pack(key, payload));
    static std::atomic<int> puts{0};
    if (puts++ % kTrimEvery == 0) trim();
}

std::optional<std::string> DiskCache::get_file(std::string_view kind, std::string_view key) const {
    std::string file = path(kind, key);
    std::string now = stamp(file);
    if (now.empty() || (enabled() && !is_ours(folder_))) return std::nullopt;
    {
        std::lock_guard lock(verified_mutex);
        if (auto known = verified.find(file); known != verified.end() && known->second == now) return file;
    }
    auto seal = read_file(file + ".sum");
    auto payload = read_file(file);
    if (!seal || !payload || unpack(*seal, key) != content_hash(*payload)) {
        unlink(file.c_str());
        return std::nullopt;
    }
    touch(file);
    touch(file + ".sum");
    std::lock_guard lock(verified_mutex);
    verified[file] = stamp(file);
    return file;
}

std::optional<std::string> DiskCache::put_file(std::string_view kind, std::string_view key,
                                               std::string_view payload) const {
    // A folder that cannot be used is replaced by the process's own.
    bool usable = make_folder(kind);
    if (enabled() && !usable) return DiskCache(std::string()).put_file(kind, key, payload);
    std::string file = path(kind, key);
    if (!usable && !make_private_folder(file.substr(0, file.rfind('/')))) return std::nullopt;
    // Writers of one key may differ in bytes (a compiler's time stamps): the file last renamed must match its seal, so
    // a reader that finds a mismatch rebuilds; equal bytes, the usual case, never mismatch.
    if (!write_file_atomically(file + ".sum", pack(key, content_hash(payload))) ||
        !write_file_atomically(file, payload))
        return std::nullopt;
    std::lock_guard lock(verified_mutex);
    verified[file] = stamp(file);
    return file;
}

void DiskCache::trim() const {
    if (!enabled()) return;
    struct Entry {
        fs::file_time_type used;
        uint64_t size;
        fs::path path;
    };
    std::vector<Entry> entries;
    uint64_t total = 0;
    std::error_code status;
    auto now = fs::file_time_type::clock::now();
    for (fs::recursive_directory_iterator at(folder_, status), end; !status && at != end; at.increment(status)) {
        std::error_code gone;
        if (!at->is_regular_file(gone)) continue;
        Entry entry{at->last_write_time(gone), at->file_size(gone), at->path()};
        if (gone) continue;
        if (entry.path.extension() == ".tmp") {
            if (now - entry.used > std::chrono::seconds(kStaleTemporarySeconds)) fs::remove(entry.path, gone);
            continue;
        }
        total += entry.size;
        entries.push_back(std::move(entry));
    }
    if (total <= capacity_) return;
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
    for (const Entry& entry : entries) {
        if (total <= capacity_ / 10 * 9) break;
        std::error_code gone;
        if (fs::remove(entry.path, gone)) total -= entry.size;
    }
}

}  // namespace strata
