#include "strata/core/process/beside.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace strata {

std::string folders_beside() {
    Dl_info here{};
    if (!dladdr(reinterpret_cast<void*>(&folders_beside), &here) || !here.dli_fname) return {};
    std::error_code status;
    std::filesystem::path folder = std::filesystem::canonical(here.dli_fname, status).parent_path();
    if (status) return {};
    std::string list = folder.string();
    for (int level = 0; level < 4 && folder.has_relative_path(); ++level, folder = folder.parent_path())
        list += fmt::format(":{0}/lib:{0}/lib/strata", folder.string());
    return list + ":/usr/local/lib/strata:/usr/lib/strata";
}

std::string find_folder_with(std::string_view file, std::string_view folders) {
    while (!folders.empty()) {
        size_t colon = std::min(folders.find(':'), folders.size());
        std::string folder(folders.substr(0, colon));
        folders.remove_prefix(std::min(colon + 1, folders.size()));
        if (!folder.empty() && access(fmt::format("{}/{}", folder, file).c_str(), R_OK) == 0) return folder;
    }
    return {};
}

}  // namespace strata
