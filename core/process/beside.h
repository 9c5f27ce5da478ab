#pragma once
#include <string>
#include <string_view>

namespace strata {

/// Colon-separated folders beside and above the program or module that holds this code, where installs and build trees
/// put what is found at run time: the folder itself, lib and lib/strata of it and of those above, and the system's.
std::string folders_beside();

/// The first folder of the list with a file of that name that can be read, or empty.
std::string find_folder_with(std::string_view file, std::string_view folders);

}  // namespace strata
