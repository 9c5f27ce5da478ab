#pragma once
#include <string>
#include <string_view>

namespace strata {

/// Colon-separated folders beside and above the program or module that holds this code. Installs and build trees put
/// files found at run time there. They are the folder itself, lib and lib/strata of it and of those above, and the
/// system's.
std::string folders_beside();

/// The first folder of the list with a file of that name that can be read, or empty.
std::string find_folder_with(std::string_view file, std::string_view folders);

}  // namespace strata
