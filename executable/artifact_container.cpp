// artifact_container: a folder, or a zip whose members are stored.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "strata/core/support/file.h"
#include "strata/core/support/utf8.h"
#include "strata/executable/artifact_container_p.h"

namespace strata::executable {
namespace {

constexpr size_t kMostFiles = size_t{1} << 16;

const char* kind_of(mode_t mode) {
    return S_ISFIFO(mode) ? "a FIFO" : S_ISSOCK(mode) ? "a socket" : S_ISDIR(mode) ? "a folder" : "a device";
}

/// The first bytes of a regular file, one more than `most` where there are more.
Result<std::string> bytes_of_file(std::string_view title, std::string_view name, const std::string& path,
                                  uint64_t most) {
    const UniqueFd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
    struct stat found{};
    if (!fd || fstat(fd.get(), &found) != 0) return wrong_file(title, name, std::strerror(errno));
    if (!S_ISREG(found.st_mode))
        return wrong_file(title, name, fmt::format("it is {}, no file", kind_of(found.st_mode)));
    std::string bytes(std::min<uint64_t>(most, static_cast<uint64_t>(found.st_size)) + 1, '\0');
    size_t have = 0;
    while (have < bytes.size()) {
        const ssize_t got = ::read(fd.get(), bytes.data() + have, bytes.size() - have);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return wrong_file(title, name, std::strerror(errno));
        if (got == 0) break;
        have += static_cast<size_t>(got);
    }
    bytes.resize(have);
    return bytes;
}

class FolderContainer : public Container {
  public:
    explicit FolderContainer(std::string path) : path_(std::move(path)) {}
    Result<std::optional<std::string>> read(std::string_view name, uint64_t most) const override {
        std::string place = path_;
        for (std::string_view rest = name; !rest.empty();) {
            const size_t end = std::min(rest.find('/'), rest.size());
            place += "/" + std::string(rest.substr(0, end));
            rest.remove_prefix(std::min(end + 1, rest.size()));
            struct stat found{};
            if (lstat(place.c_str(), &found) != 0) {
                if (errno == ENOENT || errno == ENOTDIR) return std::optional<std::string>();
                return wrong_file(path_, name, std::strerror(errno));
            }
            if (S_ISLNK(found.st_mode))
                return wrong_file(path_, name, "it is a link, which may lead elsewhere: give the file itself");
        }
        STRATA_TRY(std::string bytes, bytes_of_file(path_, name, place, most));
        return std::optional(std::move(bytes));
    }

  private:
    std::string path_;
};

/// Numbers of a zip, from the lowest byte on.
uint64_t number_at(std::string_view bytes, uint64_t at, size_t size) {
    uint64_t value = 0;
    std::memcpy(&value, bytes.data() + at, size);
    return value;
}

/// By byte.
constexpr std::array<uint32_t, 256> kChecksums = [] {
    std::array<uint32_t, 256> out{};
    for (uint32_t i = 0; i < out.size(); ++i) {
        out[i] = i;
        for (int bit = 0; bit < 8; ++bit) out[i] = out[i] >> 1 ^ (0xedb88320u & (0u - (out[i] & 1)));
    }
    return out;
}();

class ZipContainer : public Container {
  public:
    ZipContainer(std::string path, std::string bytes) : path_(std::move(path)), bytes_(std::move(bytes)) {}

    /// Reads the directory at the end of the file.
    Result<void> open() {
        constexpr size_t kEnd = 22, kEntry = 46, kLongestComment = 65535;
        size_t end = bytes_.size() < kEnd ? std::string::npos : bytes_.rfind("PK\5\6", bytes_.size() - kEnd);
        if (end == std::string::npos || bytes_.size() - end > kEnd + kLongestComment)
            return wrong_file(path_, "the file", "it is no artifact: File is not a zip file");
        const uint64_t count = number_at(bytes_, end + 10, 2), size = number_at(bytes_, end + 12, 4);
        uint64_t at = number_at(bytes_, end + 16, 4);
        if (at + size > end) return damaged();
        for (uint64_t i = 0; i < count; ++i) {
            if (at + kEntry > end || std::string_view(bytes_).substr(at, 4) != "PK\1\2") return damaged();
            const uint64_t name = number_at(bytes_, at + 28, 2), extra = number_at(bytes_, at + 30, 2),
                           comment = number_at(bytes_, at + 32, 2);
            if (at + kEntry + name + extra + comment > end) return damaged();
            STRATA_TRY_VOID(add(at, std::string(bytes_, at + kEntry, name)));
            at += kEntry + name + extra + comment;
        }
        return {};
    }

    Result<std::optional<std::string>> read(std::string_view name, uint64_t most) const override {
        const auto found = entries_.find(name);
        if (found == entries_.end()) return std::optional<std::string>();
        const Entry& entry = found->second;
        if (entry.size > most) return std::optional(std::string(part(entry).substr(0, most + 1)));
        if (checksum(part(entry)) != entry.crc)
            return wrong_file(path_, name, "it cannot be read: its checksum differs");
        return std::optional(std::string(part(entry)));
    }

  private:
    struct Entry {
        uint64_t at, size;
        uint32_t crc;
    };
    std::string_view part(const Entry& entry) const { return std::string_view(bytes_).substr(entry.at, entry.size); }
    Error damaged() const { return wrong_file(path_, "the file", "it is no artifact: its directory is damaged"); }

    Result<void> add(uint64_t at, std::string name) {
        constexpr size_t kLocal = 30;
        if (!is_inside(name))
            return wrong_file(path_, in_quotes(name), "the name leaves the artifact: it is not to be trusted");
        if (entries_.contains(name) || entries_.size() >= kMostFiles)
            return wrong_file(path_, name, "it is there twice, or there are too many files");
        if (S_ISLNK(number_at(bytes_, at + 40, 2)))
            return wrong_file(path_, name, "it is a link, which may lead elsewhere");
        const uint64_t flags = number_at(bytes_, at + 8, 2), method = number_at(bytes_, at + 10, 2),
                       packed = number_at(bytes_, at + 20, 4), size = number_at(bytes_, at + 24, 4);
        if (method != 0 || flags & 1 || packed != size)
            return wrong_file(path_, name, "it is compressed or encrypted: an artifact is a zip of stored files");
        const uint64_t local = number_at(bytes_, at + 42, 4);
        if (local + kLocal + size > bytes_.size())
            return wrong_file(path_, name, fmt::format("it has {} bytes and the whole file {}", size, bytes_.size()));
        const uint64_t longer = number_at(bytes_, local + 26, 2) + number_at(bytes_, local + 28, 2);
        if (std::string_view(bytes_).substr(local, 4) != "PK\3\4" || local + kLocal + longer + size > bytes_.size() ||
            std::string_view(bytes_).substr(local + kLocal, name.size()) != name)
            return wrong_file(path_, name, "it cannot be read: its place in the file is damaged");
        entries_.emplace(std::move(name),
                         Entry{local + kLocal + longer, size, static_cast<uint32_t>(number_at(bytes_, at + 16, 4))});
        return {};
    }

    std::string path_, bytes_;
    std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace

uint32_t checksum(std::string_view bytes) {
    uint32_t crc = ~0u;
    for (char c : bytes) crc = crc >> 8 ^ kChecksums[(crc ^ static_cast<uint8_t>(c)) & 0xff];
    return ~crc;
}

Error wrong_file(std::string_view path, std::string_view name, std::string_view what) {
    return make_error(ErrorKind::Usage, "[Artifact.load] {}: {}: {}", path, name, what);
}

bool is_inside(std::string_view name) {
    if (name.empty() || name.size() > 1024 || !is_utf8(name)) return false;
    for (char c : name)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f ||
            std::string_view("\\:*?\"<>|").find(c) != std::string_view::npos)
            return false;
    for (std::string_view rest = name;;) {
        const size_t end = std::min(rest.find('/'), rest.size());
        const std::string_view part = rest.substr(0, end);
        if (part.empty() || part == "." || part == "..") return false;
        if (end == rest.size()) return true;
        rest.remove_prefix(end + 1);
    }
}

std::string in_quotes(std::string_view name) {
    std::string out = "'";
    for (char c : name.substr(0, 200))
        out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f
                   ? fmt::format("\\x{:02x}", static_cast<unsigned char>(c))
                   : std::string(1, c);
    return out + "'";
}

Result<std::unique_ptr<Container>> open_container(const std::string& path) {
    struct stat found{};
    if (stat(path.c_str(), &found) != 0)
        return wrong_file(path, "the artifact",
                          fmt::format("{}: give the name that Artifact.save got",
                                      errno == ENOENT ? "there is no such file" : std::strerror(errno)));
    if (S_ISDIR(found.st_mode)) return std::unique_ptr<Container>(std::make_unique<FolderContainer>(path));
    if (!S_ISREG(found.st_mode))
        return wrong_file(path, "the artifact", fmt::format("it is {}, no file", kind_of(found.st_mode)));
    std::optional<std::string> bytes = read_file(path);
    if (!bytes) return wrong_file(path, "the artifact", "it cannot be read");
    return container_of_bytes(path, *std::move(bytes));
}

Result<std::unique_ptr<Container>> container_of_bytes(std::string_view path, std::string bytes) {
    auto zip = std::make_unique<ZipContainer>(std::string(path), std::move(bytes));
    STRATA_TRY_VOID(zip->open());
    return std::unique_ptr<Container>(std::move(zip));
}

}  // namespace strata::executable
