#pragma once
#include <optional>
#include <string>
#include <vector>

#include "strata/core/support/error.h"
#include "strata/core/uop/args.h"

namespace strata::codegen {

/// Fault of an access.
struct Fault {
    ErrorKind kind;
    std::string what;
};

/// Who accesses an element: a wave of a block between two barriers.
struct Accessor {
    uint32_t block = 0, wave = 0, epoch = 0;
};

/// Facts of each element of one memory: whether anything wrote it, and its last accesses.
class Shadow {
  public:
    explicit Shadow(size_t elements, bool is_filled) : elements_(elements) {
        for (Element& e : elements_) e.is_filled = is_filled;
    }
    size_t size() const { return elements_.size(); }

    void forget_accesses() {
        for (Element& e : elements_) e.write = e.read = {}, e.many_read = false;
    }
    /// The fault of a read, if there is one.
    std::optional<Fault> read(size_t at, const Accessor& by);
    /// The fault of a write; one of the value that is there already races with no other write.
    std::optional<Fault> write(size_t at, const Accessor& by, bool same_value);
    /// The fault of an asynchronous copy that begins to write; until it ends, nothing else may touch the element.
    std::optional<Fault> begin_copy(size_t at, const Accessor& by);
    void end_copy(size_t at, const Accessor& by);
    /// Atomic accesses race with plain ones alone.
    std::optional<Fault> update(size_t at, const Accessor& by);

  private:
    enum class Kind : uint8_t { none, plain, atomic };
    struct Access {
        Accessor by;
        Kind kind = Kind::none;
    };
    struct Element {
        Access write, read;
        bool is_filled = false, is_copied_to = false;
        bool many_read = false;  ///< several waves read it since the barrier before its last read
    };
    static bool meets(const Access& earlier, const Accessor& now, Kind kind);
    std::vector<Element> elements_;
};

}  // namespace strata::codegen
