#pragma once
#include "strata/hip/module/launch.h"

namespace strata {
struct Settings;
}

namespace strata::hip::library {

/// HIP_STRATA_PROFILE=1: at the end of the program a table of its kernels, with modelled times, goes to stderr.
bool profiling();
void add_to_profile(const Launch& launch, const LaunchReport& report);
/// The settings with which launches report what bounds them.
const std::shared_ptr<const Settings>& profiled_settings();

}  // namespace strata::hip::library
