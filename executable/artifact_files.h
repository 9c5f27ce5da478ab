#pragma once
#include <map>
#include <string>
#include <string_view>

#include "strata/core/support/json.h"
#include "strata/executable/sequence.h"

namespace strata::executable {

inline constexpr std::string_view kManifest = "manifest.json", kArtifactFormat = "strata artifact";
inline constexpr uint64_t kArtifactVersion = 1;  ///< that this reader reads and saving writes

/// An artifact's files by name, with the sizes and hashes that its manifest says.
struct ArtifactFiles {
    std::string title;  ///< in errors: its path
    std::string text;   ///< of the manifest
    Json manifest;
    std::map<std::string, std::string, std::less<>> files = {};  ///< without the manifest
};

/// The artifact of this name, a folder or a zip of stored files. Errors (Usage) name the file that is wrong. They come
/// in the order of docs/artifacts.md.
Result<ArtifactFiles> read_artifact(const std::string& path);
/// The same of the bytes of such a zip. `title` names them in errors.
Result<ArtifactFiles> artifact_of_bytes(std::string_view title, std::string_view bytes);

/// Its sequence for an architecture that it has; errors as of sequence_of.
Result<Sequence> sequence_of(const ArtifactFiles& artifact, std::string_view arch);

}  // namespace strata::executable
