#include "strata/codegen/toolchain/object_store.h"

#include <mutex>

#include "strata/codegen/toolchain/includes.h"
#include "strata/core/support/lru.h"
#include "strata/core/support/mutex.h"
#include "strata/core/support/settings.h"

namespace strata::codegen {
namespace {

constexpr size_t kMemoBytes = size_t{2} << 20;  // what goes from it is on disk

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

}  // namespace

ObjectStore::ObjectStore(std::string key, const HipSource& source, bool keeps)
    : disk_(DiskCache::of_settings()),
      key_(std::move(key)),
      includes_files_(may_include_files(source)),
      keeps_(keeps && !settings().no_cache) {}

std::optional<Object> ObjectStore::find() {
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

void ObjectStore::add(const Object& object, const std::optional<std::string>& includes) {
    if (!keeps_ || !includes) return;
    disk_.put(CacheKind::objects, key_ + *includes, object.bytes);
    if (includes_files_) disk_.put(CacheKind::includes, key_, *includes);
    memo.put(key_ + *includes, object);
}

}  // namespace strata::codegen
