#include "strata/core/support/error.h"

namespace strata {

std::string_view name(ErrorKind kind) {
    switch (kind) {
#define ERROR(kind, python, ...) \
    case ErrorKind::kind: return #python;
#include "strata/core/support/errors.def"
#undef ERROR
    }
    return "Error";
}

namespace detail {

void check_failed(const char* condition, const char* file, int line, const std::string& message) {
    std::string_view path = file;
    if (auto slash = path.rfind('/'); slash != path.npos) path = path.substr(slash + 1);
    throw Exception(make_error(ErrorKind::Internal, "internal error at {}:{}: {} is false{}{}", path, line, condition,
                               message.empty() ? "" : ": ", message));
}

}  // namespace detail
}  // namespace strata
