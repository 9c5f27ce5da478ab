#pragma once
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "strata/core/support/file.h"

namespace strata::test {

/// A folder that is removed at the end, whatever is in it.
class Scratch {
  public:
    Scratch() : path_(testing::TempDir() + "strata-cache-XXXXXX") { EXPECT_TRUE(mkdtemp(path_.data())); }
    ~Scratch() {
        std::error_code ignored;
        for (auto at = std::filesystem::recursive_directory_iterator(path_, ignored);
             at != std::filesystem::recursive_directory_iterator(); at.increment(ignored))
            if (at->is_directory(ignored) && !at->is_symlink(ignored)) chmod(at->path().c_str(), 0700);
        std::filesystem::remove_all(path_, ignored);
    }
    Scratch(const Scratch&) = delete;
    const std::string& path() const { return path_; }
    std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

  private:
    std::string path_;
};

inline void write_text(const std::string& path, std::string_view text) {
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
    std::ofstream(path, std::ios::binary) << text;
}

/// Everything that is below a folder: path to mode, owner, time of change and content.
inline std::map<std::string, std::string> snapshot(const std::string& folder) {
    std::map<std::string, std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        struct stat status{};
        EXPECT_EQ(lstat(entry.path().c_str(), &status), 0);
        found[entry.path()] =
            fmt::format("{:o} {} {}.{} {}", status.st_mode, status.st_uid, status.st_mtim.tv_sec,
                        status.st_mtim.tv_nsec, S_ISREG(status.st_mode) ? read_file(entry.path()).value_or("") : "");
    }
    return found;
}

}  // namespace strata::test
