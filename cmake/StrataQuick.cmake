# STRATA_QUICK: a build that is done sooner and runs somewhat slower, for a first look (scripts/setup with targets, and
# so examples/run). Only emulated instructions and what visits each node of a graph are optimized. Headers that the Python
# module's sources share are compiled once, and so are those of STRATA_PRECOMPILED.
option(STRATA_QUICK "Compile in half of the time code of which little is optimized" OFF)
# Headers of the standard library and fmt are compiled once, for quick builds and for those with sanitizers. So CI sees
# that every source compiles after them. Other builds see that every source includes what it needs.
option(STRATA_PRECOMPILED "Compile the headers of the standard library and fmt once" OFF)
# Without this ccache keeps nothing that is compiled with precompiled headers.
string(REPLACE "CCACHE_NOHASHDIR=1" "CCACHE_NOHASHDIR=1;CCACHE_SLOPPINESS=pch_defines,time_macros" CMAKE_CXX_COMPILER_LAUNCHER
       "${CMAKE_CXX_COMPILER_LAUNCHER}")
if(STRATA_QUICK)
  string(REPLACE "-O3" "-O1" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
endif()
set(STRATA_HEADERS_ONCE
    <algorithm> <array> <atomic> <bit> <charconv> <chrono> <cmath> <cstdint> <cstring> <deque> <filesystem> <functional>
    <limits> <map> <memory> <mutex> <numeric> <optional> <ranges> <set> <span> <string> <string_view> <thread> <tuple>
    <unordered_map> <unordered_set> <utility> <variant> <vector> <fmt/format.h>)

# A library of headers that targets with the same options share.
function(strata_headers_once name)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${name}.cpp CONTENT "")
  add_library(${name} STATIC ${PROJECT_BINARY_DIR}/${name}.cpp)
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_link_libraries(${name} PRIVATE fmt::fmt strata_warnings)
  target_precompile_headers(${name} PRIVATE ${STRATA_HEADERS_ONCE} ${ARGN})
endfunction()

# Gives a library of a folder the headers, and how far a quick build optimizes it: emulated instructions as ever. With
# sanitizers most code is not optimized, since that takes twice as long as running it slower; what computes for long is.
function(strata_quick target)
  if(STRATA_SANITIZE AND target MATCHES "^strata_(asm|core)_")
    target_compile_options(${target} PRIVATE -O1)
    return()
  endif()
  set(headers strata_quick_headers)
  if(STRATA_QUICK)
    if(target MATCHES "^strata_asm_emu_(machine|vector|matrix|scalar|memory|program)$")
      target_compile_options(${target} PRIVATE -O3)
    elseif(NOT target MATCHES "^strata_core_(uop|symbolic|rewrite|support)$")
      set(headers strata_plain_headers)  # precompiled headers serve one of the two: with or without optimization
      target_compile_options(${target} PRIVATE -O0)
    endif()
  endif()
  if(STRATA_QUICK OR STRATA_PRECOMPILED)
    if(NOT TARGET ${headers})
      strata_headers_once(${headers})
      if(headers STREQUAL strata_plain_headers)
        target_compile_options(${headers} PRIVATE -O0)
      endif()
    endif()
    target_precompile_headers(${target} REUSE_FROM ${headers})
  endif()
endfunction()

# Gives a test program the headers, and GoogleTest's.
function(strata_quick_test target)
  if(NOT TARGET strata_test_headers)
    strata_headers_once(strata_test_headers <gtest/gtest.h>)
    target_compile_options(strata_test_headers PRIVATE -O0 -fPIE)  # as programs are compiled
    set_target_properties(strata_test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_link_libraries(strata_test_headers PRIVATE GTest::gtest_main)
  endif()
  target_precompile_headers(${target} REUSE_FROM strata_test_headers)
endfunction()
