#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace strata {

enum class CacheKind {
#define CACHE_KIND(name) name,
#include "strata/core/support/cache_kinds.def"
#undef CACHE_KIND
};
std::string_view name(CacheKind kind);

class Folder;

/// Keyed byte strings on disk, shared by all processes of the user. An entry holds its key and a checksum; one that is
/// damaged, truncated or of another key is dropped and reads as absent. Writes are atomic, so processes that fill the
/// same entry at once both succeed. Trouble with the disk never fails a caller: the cache is then just empty.
///
/// Entries are trusted because only this user can have written them. A folder that is a link, belongs to another, or
/// that others may write to is not used at all. One line on stderr says so.
class DiskCache {
  public:
    static constexpr uint64_t default_capacity = uint64_t{2} << 30;

    /// `folder` empty: neither reads nor writes. Over `capacity` bytes the entries longest unused are dropped.
    explicit DiskCache(std::string folder, uint64_t capacity = default_capacity);
    /// The one of settings(): its cache_dir, or a disabled cache under STRATA_NO_CACHE.
    static DiskCache of_settings();

    bool enabled() const { return !folder_.empty(); }
    std::optional<std::string> get(CacheKind kind, std::string_view key) const;
    void put(CacheKind kind, std::string_view key, std::string_view payload) const;

    /// The same for a payload that other programs read: the path of a file with exactly these bytes. A cache that is
    /// disabled, not usable or full keeps such files until the process ends.
    std::optional<std::string> get_file(CacheKind kind, std::string_view key) const;
    std::optional<std::string> put_file(CacheKind kind, std::string_view key, std::string_view payload) const;

    /// Drops the entries longest unused until the folder is within the capacity; put does this now and then. Files that
    /// no cache can have written stay, and do not count.
    void trim() const;

  private:
    std::optional<Folder> open(CacheKind kind) const;

    std::string folder_;  ///< empty when disabled
    uint64_t capacity_;
};

}  // namespace strata
