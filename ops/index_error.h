#pragma once
#include <utility>

#include "strata/core/support/error.h"

namespace strata {

/// An index that has no place in the tensor. In Python it is an IndexError besides what its kind is.
class IndexException : public Exception {
  public:
    using Exception::Exception;
};

namespace ops {

template <class... Args>
[[noreturn]] void index_error(ErrorKind kind, fmt::format_string<Args...> text, Args&&... args) {
    throw IndexException(make_error(kind, text, std::forward<Args>(args)...));
}

}  // namespace ops
}  // namespace strata
