# STRATA_QUICK: a build that is done sooner and runs somewhat slower, for a first look (scripts/setup with targets, and
# so examples/run). Headers of the standard library and fmt, and those that the Python module's sources share, are
# compiled once. Code is optimized less, but for the emulator's.
option(STRATA_QUICK "Compile in three quarters of the time code that is optimized less" OFF)
if(STRATA_QUICK)
  # Without this ccache keeps nothing that is compiled with precompiled headers.
  string(REPLACE "CCACHE_NOHASHDIR=1" "CCACHE_NOHASHDIR=1;CCACHE_SLOPPINESS=pch_defines,time_macros" CMAKE_CXX_COMPILER_LAUNCHER
         "${CMAKE_CXX_COMPILER_LAUNCHER}")
  string(REPLACE "-O3" "-O1" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
endif()
set(STRATA_QUICK_HEADERS
    <algorithm> <array> <atomic> <bit> <charconv> <chrono> <cmath> <cstdint> <cstring> <deque> <filesystem> <functional>
    <limits> <map> <memory> <mutex> <numeric> <optional> <ranges> <set> <span> <string> <string_view> <thread> <tuple>
    <unordered_map> <unordered_set> <utility> <variant> <vector> <fmt/format.h>)

# Gives a library of a folder the headers, which the first one compiles. Emulated instructions run as fast as ever.
function(strata_quick target)
  if(NOT STRATA_QUICK)
    return()
  endif()
  if(target MATCHES "^strata_asm_emu_(machine|vector|matrix|scalar|memory|program)$")
    target_compile_options(${target} PRIVATE -O3)
  endif()
  if(NOT TARGET strata_quick_headers)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/quick_headers.cpp CONTENT "")
    add_library(strata_quick_headers STATIC ${PROJECT_BINARY_DIR}/quick_headers.cpp)
    target_compile_features(strata_quick_headers PUBLIC cxx_std_20)
    target_link_libraries(strata_quick_headers PRIVATE fmt::fmt strata_warnings)
    target_precompile_headers(strata_quick_headers PRIVATE ${STRATA_QUICK_HEADERS})
  endif()
  target_precompile_headers(${target} REUSE_FROM strata_quick_headers)
endfunction()
