# Half of a small file's compile time are the headers of other libraries: scripts/setup and scripts/wheel have them parsed once,
# with GoogleTest's for the tests. Others go without, the recipes' tree (test/recipes) too: it finds a file that does not include
# what it uses.
option(STRATA_PRECOMPILE "Precompile the headers of other libraries" OFF)

# A compiler cache may bring a precompiled header that was made before: the headers are the same, their dates are not.
function(strata_precompiled_dates target)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endfunction()

function(strata_precompile target kind)
  if(STRATA_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM strata_${kind}_headers)
    strata_precompiled_dates(${target})
  endif()
endfunction()

if(STRATA_PRECOMPILE)
  set(headers <algorithm> <fmt/format.h> <functional> <memory> <optional> <span> <string> <unordered_map> <vector>)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/headers.cpp CONTENT "")
  add_library(strata_folder_headers OBJECT ${PROJECT_BINARY_DIR}/headers.cpp)
  target_precompile_headers(strata_folder_headers PRIVATE ${headers})
  target_link_libraries(strata_folder_headers PRIVATE fmt::fmt strata_warnings)
  strata_precompiled_dates(strata_folder_headers)
  if(STRATA_BUILD_TESTS)
    add_executable(strata_test_headers ${PROJECT_BINARY_DIR}/headers.cpp)  # a program: compiled as tests are
    target_precompile_headers(strata_test_headers PRIVATE ${headers} <gtest/gtest.h>)
    target_link_libraries(strata_test_headers PRIVATE fmt::fmt GTest::gtest_main strata_warnings)
    strata_precompiled_dates(strata_test_headers)
  endif()
endif()
