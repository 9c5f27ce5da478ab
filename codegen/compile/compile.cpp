#include "strata/codegen/compile/compile.h"

#include <chrono>
#include <filesystem>
#include <mutex>
#include <optional>

#include "strata/codegen/compile/build_p.h"
#include "strata/codegen/compile/compile_p.h"
#include "strata/codegen/compile/device_libs_p.h"
#include "strata/codegen/compile/entry_p.h"
#include "strata/codegen/compile/includes_p.h"
#include "strata/codegen/compile/options_p.h"
#include "strata/core/support/disk_cache.h"
#include "strata/core/support/lru.h"
#include "strata/core/support/mutex.h"
#include "strata/core/support/settings.h"

namespace strata::codegen {
namespace {

constexpr size_t kMemoBytes = size_t{2} << 20;  // what goes from it is on disk

struct Object {
    std::string bytes;  ///< relocatable: linking takes microseconds, and so no store depends on our linker
    std::string route;
};

/// Objects of this process by their whole key.
class Memo {
  public:
    std::optional<Object> get(const std::string& key) {
        std::lock_guard lock(mutex_);
        const Object* found = entries_.find(key);
        return found ? std::optional(*found) : std::nullopt;
    }
    void put(const std::string& key, const Object& object) {
        std::lock_guard lock(mutex_);
        (void)entries_.put(key, object, 2 * key.size() + object.bytes.size(), kMemoBytes);
    }

  private:
    Mutex mutex_;
    Lru<std::string, Object> entries_;
};
Memo memo;

/// The tools of the last search: looking takes a dozen system calls.
Result<Toolchain> toolchain(const SearchPaths& paths) {
    static Mutex mutex;
    static std::optional<std::pair<SearchPaths, Toolchain>> last;
    std::lock_guard lock(mutex);
    if (last && last->first == paths) return last->second;
    STRATA_TRY(Toolchain found, find_toolchain(paths));
    last.emplace(paths, found);
    return found;
}

Prelude prelude_of(const HipSource& source) {
    return source.freestanding ? prelude_for(source.text) : prelude_behind_runtime_header();
}

/// Everything that decides the bytes of a code object but the contents of files that the source includes.
std::string cache_key(const Toolchain& tools, const HipSource& source, const Prelude& prelude, isa::Arch arch) {
    std::string key = fmt::format("{}{}\nfreestanding {}\nfile {}\n", tools.identity, isa::info(arch).name,
                                  source.freestanding, source.file_name);
    std::error_code ignored;
    if (may_include_files(source)) key += fmt::format("folder {}\n", std::filesystem::current_path(ignored).string());
    if (!source.freestanding) key += library_additions_text;
    key += fmt::format("beside {}\nentry {}\n", source.folder, entry_request(source));
    for (const std::string& option : source.options) key += fmt::format("option {}\n", option);
    return key.append(prelude.text).append("\n---\n").append(source.text);
}

/// The stores of objects: memory, then disk. A source that includes files of the user is kept under its key and the
/// contents of those files, which an entry of their own tells.
class Store {
  public:
    Store(std::string key, const HipSource& source)
        : disk_(DiskCache::of_settings()),
          key_(std::move(key)),
          includes_files_(may_include_files(source)),
          keeps_(!settings().no_cache && are_listed(source.options)) {}

    std::optional<Object> find() {
        if (!keeps_) return std::nullopt;
        std::string key = key_;
        if (includes_files_) {
            auto includes = disk_.get(CacheKind::includes, key_);
            if (!includes || !still_valid(*includes)) return std::nullopt;
            key += *includes;
        }
        if (auto known = memo.get(key)) return known;
        auto bytes = disk_.get(CacheKind::objects, key);
        if (!bytes) return std::nullopt;
        Object object{std::move(*bytes), "disk cache"};
        memo.put(key, object);
        return object;
    }

    void add(const Object& object, const std::string& includes) {
        if (!keeps_) return;
        disk_.put(CacheKind::objects, key_ + includes, object.bytes);
        if (includes_files_) disk_.put(CacheKind::includes, key_, includes);
        memo.put(key_ + includes, object);
    }

  private:
    DiskCache disk_;
    std::string key_;
    bool includes_files_;
    bool keeps_;
};

Result<Object> find_or_build(const HipSource& source, isa::Arch arch, const SearchPaths& paths, bool& cached) {
    STRATA_TRY_VOID(check_options(source.options));
    STRATA_TRY(const Toolchain tools, toolchain(paths));
    const Prelude prelude = prelude_of(source);
    Store store(cache_key(tools, source, prelude, arch), source);
    auto found = store.find();
    cached = found.has_value();
    if (cached) return std::move(*found);
    STRATA_TRY(Built built, build(tools, source, prelude, arch, Output::object));
    Object object{std::move(built.output), std::string(built.route)};
    store.add(object, built.includes);
    return object;
}

}  // namespace

Result<Compiled> compile_hip(const HipSource& source, isa::Arch arch, const SearchPaths& paths) {
    auto start = std::chrono::steady_clock::now();
    Compiled compiled;
    STRATA_TRY(Object object, find_or_build(source, arch, paths, compiled.cached));
    auto linked = isa::link_relocatable({reinterpret_cast<const uint8_t*>(object.bytes.data()), object.bytes.size()});
    if (!linked)
        return Error{.kind = ErrorKind::Compile,
                     .message = fmt::format("{}: {}", source.file_name, linked.error().message),
                     .log = linked.error().message,
                     .source = source.text};
    STRATA_TRY(isa::CodeObject parsed, isa::CodeObject::parse(*std::move(linked)));
    STRATA_TRY(compiled.entry, find_entry(parsed, source));
    compiled.object = std::make_shared<const isa::CodeObject>(std::move(parsed));
    compiled.text = source.text;
    compiled.route = std::move(object.route);
    compiled.compile_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return compiled;
}

Result<Compiled> compile_hip(const HipSource& source, Chip chip) {
    if (!chip.is_amd())
        return make_error(ErrorKind::Unsupported, "{}: Strata compiles for AMD's chips, and {} is NVIDIA's",
                          source.file_name, chip.name());
    return compile_hip(source, chip, SearchPaths::usual());
}

std::string compiler_identity(const Target& target) {
    if (target.route != Route::hip || !target.arch.is_amd()) return {};
    Result<Toolchain> tools = toolchain(SearchPaths::usual());
    return tools ? tools->identity : std::string();
}

Result<std::string> compile_to_assembly(const HipSource& source, isa::Arch arch, const SearchPaths& paths) {
    STRATA_TRY_VOID(check_options(source.options));
    STRATA_TRY(const Toolchain tools, toolchain(paths));
    STRATA_TRY(Built built, build(tools, source, prelude_of(source), arch, Output::assembly));
    return std::move(built.output);
}

Result<std::string> compile_to_assembly(const HipSource& source, isa::Arch arch) {
    return compile_to_assembly(source, arch, SearchPaths::usual());
}

}  // namespace strata::codegen
