#pragma once
#include <optional>
#include <string>

#include "strata/codegen/render/hip_source.h"
#include "strata/core/support/disk_cache.h"

namespace strata::codegen {

struct Object {
    std::string bytes;  ///< AMD's: relocatable, as linking takes microseconds, and so no store depends on our linker
    std::string route;
};

/// The stores of objects: memory, then disk. A source that includes files of the user is kept under its key and its
/// dependencies, which an entry of its own lists.
class ObjectStore {
  public:
    /// `key`: everything that decides the bytes but the contents of files that the source includes.
    ObjectStore(std::string key, const HipSource& source, bool keeps);

    std::optional<Object> find();
    /// `includes`: as describe_includes gives them; none: the object is not kept.
    void add(const Object& object, const std::optional<std::string>& includes);

  private:
    DiskCache disk_;
    std::string key_;
    bool includes_files_;
    bool keeps_;
};

}  // namespace strata::codegen
