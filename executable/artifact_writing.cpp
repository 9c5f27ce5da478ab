// artifact_writing: files by name -> a folder, or a zip of stored members. Equal files are equal bytes.
#include "strata/executable/artifact_writing.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "strata/core/support/file.h"
#include "strata/executable/artifact_container_p.h"
#include "strata/executable/artifact_files.h"
#include "strata/executable/sha256_p.h"

namespace strata::executable {
namespace {

constexpr size_t kMemberAlignment = 64;
constexpr uint16_t kPadding = 0xd935;  // the extra field that zip tools leave alone

class ZipWriter {
  public:
    void add(const std::string& name, const std::string& content) {
        constexpr size_t kLocal = 30, kExtra = 4;
        const size_t start = out_.size(), end = start + kLocal + name.size() + kExtra;
        const size_t padding = (kMemberAlignment - end % kMemberAlignment) % kMemberAlignment;
        const uint32_t crc = checksum(content);
        text("PK\3\4");
        fields(crc, content.size(), name.size());
        number(kExtra + padding, 2);
        text(name);
        number(kPadding, 2), number(padding, 2);
        out_.append(padding, '\0');
        out_ += content;

        std::swap(out_, directory_);
        text("PK\1\2");
        number(3 << 8 | 20, 2);  // made on Unix
        fields(crc, content.size(), name.size());
        number(0, 2), number(0, 2), number(0, 2), number(0, 2);
        number(uint64_t{0100644} << 16, 4);
        number(start, 4);
        text(name);
        std::swap(out_, directory_);
        ++count_;
    }
    std::string finish() {
        const size_t start = out_.size();
        out_ += directory_;
        text("PK\5\6");
        number(0, 4), number(count_, 2), number(count_, 2);
        number(directory_.size(), 4), number(start, 4), number(0, 2);
        return std::move(out_);
    }

  private:
    void text(std::string_view bytes) { out_ += bytes; }
    void number(uint64_t value, size_t bytes) {
        for (size_t i = 0; i < bytes; ++i) out_ += static_cast<char>(value >> 8 * i);
    }
    /// Version 2.0, no flags, stored, 1980-01-01.
    void fields(uint32_t crc, size_t size, size_t name) {
        number(20, 2), number(0, 2), number(0, 2), number(0, 2), number(1 << 5 | 1, 2);
        number(crc, 4), number(size, 4), number(size, 4), number(name, 2);
    }
    std::string out_, directory_;
    uint64_t count_ = 0;
};

namespace fs = std::filesystem;

Error not_saved(const std::string& path, std::string_view what) {
    return make_error(ErrorKind::Usage, "[Artifact.save] {}: {}", path, what);
}

Error not_written(const std::string& path) { return not_saved(path, std::strerror(errno)); }

/// Beside the folder, whose place the new one takes as a whole.
Result<void> write_folder(const std::string& path, const FilesByName& files) {
    std::error_code error;
    if (fs::exists(path, error) && !fs::is_directory(path, error))
        return not_saved(path, "there is a file of this name: give the name of a folder, or one that ends in .strata");
    if (fs::is_directory(path, error) && !fs::is_empty(path, error) && !fs::exists(fs::path(path) / kManifest, error))
        return not_saved(path, "there is a folder of this name that is no artifact: give another name");
    const std::string place = fs::weakly_canonical(path, error).string();
    const std::string unfinished = fmt::format("{}.{}.part", place, getpid()), replaced = unfinished + ".old";
    for (const auto& [name, content] : files) {
        const fs::path file = fs::path(unfinished) / name;
        fs::create_directories(file.parent_path(), error);
        if (error) return not_saved(path, error.message());
        if (!write_file_atomically(file.string(), content)) return not_written(file.string());
    }
    if (fs::exists(place, error)) fs::rename(place, replaced, error);
    if (!error) fs::rename(unfinished, place, error);
    if (error) return not_saved(path, error.message());
    fs::remove_all(replaced, error);
    return {};
}

}  // namespace

Json rows_of(const FilesByName& files) {
    Json::Object out;
    for (const auto& [name, content] : files)
        out[name] = Json::Object{{"bytes", static_cast<uint64_t>(content.size())}, {"sha256", sha256(content)}};
    return out;
}

std::string key_of(const Json& manifest, const Json& rows) { return sha256(Json(Json::Array{manifest, rows}).dump()); }

Result<void> write_artifact(const std::string& path, const FilesByName& files) {
    if (path.ends_with(".strata")) {
        ZipWriter zip;
        zip.add(std::string(kManifest), files.find(kManifest)->second);
        for (const auto& [name, content] : files)
            if (name != kManifest) zip.add(name, content);
        if (!write_file_atomically(path, zip.finish())) return not_written(path);
        return {};
    }
    return write_folder(path, files);
}

}  // namespace strata::executable
