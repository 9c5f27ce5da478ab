#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "strata/core/support/result.h"

namespace strata::executable {

/// The error of a file of an artifact.
Error wrong_file(std::string_view path, std::string_view name, std::string_view what);
/// True if it is the name of a file below the artifact's folder, in one spelling.
bool is_inside(std::string_view name);
/// A name as an error shows it: in quotes, what cannot be printed as numbers.
std::string in_quotes(std::string_view name);

/// The CRC-32 of zip files.
uint32_t checksum(std::string_view bytes);

/// Files by name.
class Container {
  public:
    virtual ~Container() = default;
    /// At most `most` bytes, and one more where there are more; none: there is no such file.
    virtual Result<std::optional<std::string>> read(std::string_view name, uint64_t most) const = 0;
};

Result<std::unique_ptr<Container>> open_container(const std::string& path);
Result<std::unique_ptr<Container>> container_of_bytes(std::string_view path, std::string bytes);

}  // namespace strata::executable
