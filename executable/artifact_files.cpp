// artifact_files: what a manifest promises of the files beside it is checked here, for Python and for C.
#include "strata/executable/artifact_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "strata/core/dtype/dtype.h"
#include "strata/executable/artifact_container_p.h"
#include "strata/executable/manifest.h"
#include "strata/executable/sha256_p.h"

namespace strata::executable {
namespace {

constexpr uint64_t kMostManifest = uint64_t{1} << 28;  // bytes
constexpr size_t kMostRows = size_t{1} << 16, kMostArchs = size_t{1} << 10;

class ArtifactReading {
  public:
    ArtifactReading(std::string_view path, const Container& container) : path_(path), container_(container) {}

    Result<ArtifactFiles> run() {
        STRATA_TRY(std::optional<std::string> text, container_.read(kManifest, kMostManifest));
        if (!text) return wrong("there is none, so this is no artifact: give the name that Artifact.save got");
        if (text->size() > kMostManifest) return wrong(fmt::format("it has more than {} bytes", kMostManifest));
        Result<Json> parsed = Json::parse(*text);
        if (!parsed) return wrong("it is no JSON: " + parsed.error().message);
        out_.text = *std::move(text), out_.manifest = *std::move(parsed);
        STRATA_TRY_VOID(check_version());
        STRATA_TRY_VOID(read_files());
        STRATA_TRY_VOID(check_members());
        STRATA_TRY_VOID(check_targets());
        out_.title = path_;
        return std::move(out_);
    }

  private:
    Error wrong(std::string_view what) const { return wrong_file(path_, kManifest, what); }
    const Json* member(std::string_view name) const { return out_.manifest.find(name); }
    const std::string* text_of(std::string_view name) const { return member(name) ? member(name)->text() : nullptr; }

    Result<void> check_version() const {
        const std::string* format = text_of("format");
        if (!format || *format != kArtifactFormat)
            return wrong(fmt::format("its format is no '{}': this is another file", kArtifactFormat));
        uint64_t version = 0, least = 0;
        const Json *a = member("version"), *b = member("min_reader");
        if (!a || !b || !a->whole(version) || !b->whole(least) || version < 1)
            return wrong("its version and min_reader are no numbers");
        if (least > kArtifactVersion)
            return wrong(
                fmt::format("version {} needs a reader of version {}, and this one is of {}: install a newer strata, "
                            "or save it with this one",
                            version, least, kArtifactVersion));
        return {};
    }

    /// All names first, then bytes, then hashes.
    Result<void> read_files() {
        const Json* rows = member("files");
        if (!rows || !rows->object() || rows->object()->size() > kMostRows)
            return wrong("its 'files' are no files by name");
        struct Row {
            std::string_view name, hash;
            uint64_t bytes;
        };
        std::vector<Row> wanted;
        for (const auto& [name, row] : *rows->object()) {
            if (!is_inside(name) || name == kManifest)
                return wrong_file(path_, in_quotes(name), "the name leaves the artifact: it is not to be trusted");
            const Json *bytes = row.find("bytes"), *hash = row.find("sha256");
            uint64_t size = 0;
            if (!bytes || !hash || !bytes->whole(size) || !hash->text())
                return wrong(fmt::format("it does not say bytes and sha256 of {}", name));
            wanted.push_back({name, *hash->text(), size});
        }
        for (const Row& row : wanted) {
            STRATA_TRY(std::optional<std::string> content, container_.read(row.name, row.bytes));
            if (content) out_.files.emplace(row.name, *std::move(content));
        }
        for (const Row& row : wanted)
            if (!out_.files.contains(row.name))
                return wrong_file(path_, row.name, "the file is missing: copy the whole artifact, or save it again");
        for (const Row& row : wanted)
            if (const size_t size = out_.files.find(row.name)->second.size(); size != row.bytes)
                return wrong_file(path_, row.name,
                                  fmt::format("{} bytes where the manifest says {}: save it again",
                                              size > row.bytes ? "more" : fmt::format("{}", size), row.bytes));
        for (const Row& row : wanted)
            if (sha256(out_.files.find(row.name)->second) != row.hash)
                return wrong_file(path_, row.name, "its bytes are not those that were saved (sha256): save it again");
        return {};
    }

    static bool are_texts(const Json* list) {
        return list && list->array() && std::ranges::all_of(*list->array(), [](const Json& one) { return one.text(); });
    }
    static std::multiset<std::string> texts(const Json& list) {
        std::multiset<std::string> out;
        for (const Json& one : *list.array()) out.insert(*one.text());
        return out;
    }

    Result<void> check_members() const {
        const Json *targets = member("targets"), *archs = member("archs"), *arguments = member("arguments");
        if (!targets || !targets->object() || targets->object()->empty() || targets->object()->size() > kMostArchs)
            return wrong("its 'targets' have no architecture");
        std::multiset<std::string> named;
        for (const auto& [arch, target] : *targets->object()) named.insert(arch);
        if (!are_texts(archs) || texts(*archs) != named) return wrong("its 'archs' are not those of its 'targets'");
        constexpr std::array<std::string_view, 4> kReturns = {"tensor", "tuple", "list", "dict"};
        const std::string* returns = text_of("returns");
        if (!are_texts(arguments) || !returns || std::ranges::find(kReturns, *returns) == kReturns.end())
            return wrong("it does not say 'arguments' and 'returns'");
        if (!text_of("name") || !text_of("key") || !text_of("strata"))
            return wrong("it does not say 'name', 'key' and 'strata'");
        std::multiset<std::string> given;
        for (std::string_view kind : {"inputs", "numbers"})
            if (const Json* rows = member(kind); rows && rows->array())
                for (const Json& row : *rows->array())
                    if (const Json* name = row.find("name"); name && name->text()) given.insert(*name->text());
        if (given != texts(*arguments)) return wrong("its 'arguments' are not its inputs and numbers");
        return {};
    }

    static bool is_operand(const Json& row) {
        if (!row.array() || row.array()->size() != 3 || !(*row.array())[0].text() || !(*row.array())[1].text())
            return false;
        const std::string& dtype = *(*row.array())[1].text();
        return std::ranges::any_of(all_dtypes(), [&](DType known) { return known.name() == dtype; });
    }

    /// Members of architectures that no executable reads.
    Result<void> check_targets() const {
        for (const auto& [arch, target] : *member("targets")->object()) {
            const Json *operands = target.find("operands"), *arguments = target.find("arguments");
            const bool good = operands && operands->array() && std::ranges::all_of(*operands->array(), is_operand) &&
                              arguments && arguments->array() &&
                              std::ranges::all_of(*arguments->array(), [](const Json& row) { return are_texts(&row); });
            if (!good) return wrong(fmt::format("it does not say 'operands' and 'arguments' of {}", arch));
        }
        return {};
    }

    std::string_view path_;
    const Container& container_;
    ArtifactFiles out_;
};

}  // namespace

Result<Sequence> sequence_of(const ArtifactFiles& artifact, std::string_view arch) {
    Result<Sequence> read = sequence_of(artifact.manifest, arch, [&](std::string_view name) {
        const auto found = artifact.files.find(name);
        return found == artifact.files.end() ? std::nullopt : std::optional<std::string_view>(found->second);
    });
    if (!read) return wrong_file(artifact.title, kManifest, read.error().message);
    return read;
}

Result<ArtifactFiles> read_artifact(const std::string& path) {
    STRATA_TRY(const std::unique_ptr<Container> container, open_container(path));
    return ArtifactReading(path, *container).run();
}

Result<ArtifactFiles> artifact_of_bytes(std::string_view title, std::string_view bytes) {
    STRATA_TRY(const std::unique_ptr<Container> container, container_of_bytes(title, std::string(bytes)));
    return ArtifactReading(title, *container).run();
}

}  // namespace strata::executable
