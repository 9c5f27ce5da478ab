#include <algorithm>
#include <cstdio>
#include <mutex>
#include <set>

#include "strata/core/support/cache_folder_p.h"
#include "strata/core/support/mutex.h"
#include "strata/core/support/temp_folder.h"

namespace strata {
namespace {

// The layout's version. Only this subfolder is ever trimmed, and only with the marker in it.
constexpr const char* kLayout = "v2";
constexpr const char* kMarker = "strata-cache";
constexpr std::string_view kMarkerText = "Compiled kernels of Strata. This folder may be deleted at any time.\n";

/// True where the folder holds the marker, or held nothing and has it now.
bool is_marked(const Folder& folder) {
    if (folder.status(kMarker)) return true;
    if (!names_in(folder.fd()).empty()) return folder.status(kMarker).has_value();  // another process was faster
    if (UniqueFd marker = folder.create(kMarker)) write_all(marker.get(), kMarkerText);
    return folder.status(kMarker).has_value();
}

Result<Folder> open_layout(const std::string& folder) {
    STRATA_TRY(Folder base, Folder::open(folder));
    STRATA_TRY(Folder layout, base.child(kLayout));
    if (!is_marked(layout))
        return make_error(ErrorKind::Device, "{} holds what is not Strata's, or cannot be written to", layout.path());
    return layout;
}

bool is_hex(std::string_view text, size_t size) {
    return text.size() == size && std::all_of(text.begin(), text.end(),
                                              [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

void tell_of_unused_cache(std::string_view why) {
    static Mutex mutex;
    static std::set<std::string, std::less<>> reported;
    std::lock_guard lock(mutex);
    if (reported.emplace(why).second)
        fmt::print(stderr,
                   "strata: the cache is not used: {}; kernels are compiled again in every process. Mend that, or set "
                   "STRATA_CACHE_DIR to a folder of your own\n",
                   why);
}

Result<Folder> open_cache(const std::string& folder) {
    auto opened = open_layout(folder);
    if (!opened) tell_of_unused_cache(opened.error().message);
    return opened;
}

Result<Folder> open_process_cache() {
    STRATA_TRY(const std::string folder, process_temp_folder());
    return Folder::existing(folder);
}

CacheFile kind_of_cache_file(std::string_view name) {
    constexpr size_t key_size = 32, random_size = 16;
    if (name.size() < key_size || !is_hex(name.substr(0, key_size), key_size)) return CacheFile::foreign;
    name.remove_prefix(key_size);
    if (name.starts_with(".sum")) name.remove_prefix(4);
    if (name.empty()) return CacheFile::entry;
    return name.starts_with('.') && name.ends_with(".tmp") && name.size() == random_size + 5 &&
                   is_hex(name.substr(1, random_size), random_size)
               ? CacheFile::temporary
               : CacheFile::foreign;
}

}  // namespace strata
