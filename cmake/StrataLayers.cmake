# One static library and two include roots a folder, so that a wrong include does not compile. Users of a folder see its
# own public headers, not those of folders below it. Only the folder itself, with its tests, sees those that end in _p.h.
#   strata_folder(asm/emu DEPENDS asm/isa core/support LIBRARIES Threads::Threads)
# builds every .cpp of the folder into strata_asm_emu and lets its users write #include "strata/asm/emu/...".
#
# The presets release and sanitize compile a folder's files eight at a time, as one source (CMAKE_UNITY_BUILD). Most of a small
# file's time is its headers'. Names in unnamed namespaces are then those of all eight; ALONE lists files that use others' names.
#
# A folder may have rooms: asm/emu ROOMS asm/emu/launch is linked with its room, whose headers its users do not see. A room
# is INTERNAL: its headers are not installed, and what it links with is checked to be what it lists. A room that IMPLEMENTS
# asm/emu has the definitions of what that folder's headers declare. A room that OPENS its house, the folder that it stands
# in, is a part of it. It sees the private headers too, and the two call each other. An INTERNAL folder that no public one
# links with is part of a program or a shared library of this build, and is not installed.
include(GNUInstallDirs)
function(strata_folder path)
  cmake_parse_arguments(ARG "INTERNAL" "IMPLEMENTS;OPENS" "DEPENDS;LIBRARIES;ROOMS;ALONE" ${ARGN})
  string(REPLACE "/" "_" name ${path})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${path}/*.cpp)
  set(kind PUBLIC)
  if(sources)
    add_library(strata_${name} STATIC ${sources})
  else()
    add_library(strata_${name} INTERFACE)
    set(kind INTERFACE)
  endif()
  strata_include_roots(${path} ${name})
  target_include_directories(strata_${name} ${kind} $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include_roots/${name}>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(strata_${name} ${kind} cxx_std_20)
  string(REPLACE "/" "_" depends "${ARG_DEPENDS}")
  list(TRANSFORM depends PREPEND strata_)
  target_link_libraries(strata_${name} ${kind} ${depends} ${ARG_LIBRARIES} fmt::fmt)
  set_property(GLOBAL PROPERTY STRATA_NEEDS_${name} ${ARG_DEPENDS} ${ARG_ROOMS})
  foreach(room IN LISTS ARG_ROOMS)
    string(REPLACE "/" "_" room ${room})
    target_link_libraries(strata_${name} ${kind} $<LINK_ONLY:strata_${room}>)
  endforeach()
  if(ARG_IMPLEMENTS)
    string(REPLACE "/" "_" face ${ARG_IMPLEMENTS})
    target_include_directories(strata_${name} ${kind} $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include_roots/${face}>)
  endif()
  if(sources)
    strata_opens(strata_${name} ${path} ${ARG_OPENS})
    target_link_libraries(strata_${name} PRIVATE $<BUILD_INTERFACE:strata_warnings>)
    strata_alone(${PROJECT_SOURCE_DIR}/${path} ${ARG_ALONE})
    strata_quick(strata_${name})
  endif()
  if(ARG_INTERNAL AND NOT ARG_OPENS)
    strata_links_alone(${name})
  elseif(NOT ARG_INTERNAL)
    set_property(GLOBAL APPEND PROPERTY STRATA_FOLDERS ${path})
  endif()
endfunction()

function(strata_alone folder)
  list(TRANSFORM ARGN PREPEND ${folder}/)
  list(TRANSFORM ARGN APPEND .cpp)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# A program of everything in a library and of what that lists: a call of another folder's function does not link.
function(strata_links_alone name)
  if(NOT STRATA_BUILD_TESTS OR STRATA_SANITIZE)  # the other builds link them
    return()
  endif()
  set(main ${PROJECT_BINARY_DIR}/links_alone.cpp)
  if(NOT EXISTS ${main})
    file(WRITE ${main} "int main() {}\n")
  endif()
  add_executable(links_alone_${name} ${main})
  target_link_libraries(links_alone_${name} PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,strata_${name}>)
endfunction()

# include_roots/<name> and include_roots/<name>_private: links to the headers and tables of a folder.
function(strata_include_roots path name)
  file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/${path} ${PROJECT_SOURCE_DIR}/${path}/*.h
       ${PROJECT_SOURCE_DIR}/${path}/*.def ${PROJECT_SOURCE_DIR}/${path}/*.inc)
  foreach(root ${name} ${name}_private)
    file(REMOVE_RECURSE ${PROJECT_BINARY_DIR}/include_roots/${root})
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/include_roots/${root}/strata/${path})
  endforeach()
  foreach(header IN LISTS headers)
    set(root ${name})
    if(header MATCHES "_p\\.(h|inc)$")
      set(root ${name}_private)
    endif()
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${path}/${header} ${PROJECT_BINARY_DIR}/include_roots/${root}/strata/${path}/${header} SYMBOLIC)
  endforeach()
endfunction()

# Tests that read files of the checkout get its path; the others compile to the same object in every clone.
function(strata_source_dir)
  foreach(source IN LISTS ARGN)
    file(STRINGS ${source} uses REGEX STRATA_SOURCE_DIR LIMIT_COUNT 1)
    if(uses)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS STRATA_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    endif()
  endforeach()
endfunction()

# Lets a target include the private headers of some folders.
function(strata_opens target)
  foreach(path IN LISTS ARGN)
    string(REPLACE "/" "_" name ${path})
    target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/include_roots/${name}_private)
  endforeach()
endfunction()

# One test program a folder: test/asm/emu/*_test.cpp -> test_asm_emu, its cases registered with ctest. It may include the
# private headers of its folder, and of those under OPENS. Its sources compile in a third of the time without optimization.
# Nearly all of the code that they run is the product; those that compute for long are OPTIMIZED.
function(strata_tests path)
  cmake_parse_arguments(ARG "OPTIMIZED" "" "DEPENDS;LIBRARIES;OPENS;ALONE" ${ARGN})
  if(NOT STRATA_BUILD_TESTS OR NOT path MATCHES "${STRATA_TESTED}")
    return()
  endif()
  string(REPLACE "/" "_" name ${path})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/test/${path}/*_test.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(test_${name} ${sources})
  string(REPLACE "/" "_" depends "${ARG_DEPENDS}")
  list(TRANSFORM depends PREPEND strata_)
  strata_opens(test_${name} ${path} ${ARG_OPENS})
  target_link_libraries(test_${name} PRIVATE strata_${name} ${depends} ${ARG_LIBRARIES} GTest::gtest_main strata_warnings)
  list(TRANSFORM ARG_ALONE APPEND _test)
  strata_alone(${PROJECT_SOURCE_DIR}/test/${path} ${ARG_ALONE})
  strata_source_dir(${sources})
  if(ARG_OPTIMIZED)
    target_compile_options(test_${name} PRIVATE $<$<BOOL:${STRATA_SANITIZE}>:-O1>)
  else()
    target_compile_options(test_${name} PRIVATE -O0)
    strata_quick_test(test_${name})
  endif()
  gtest_discover_tests(test_${name} TEST_PREFIX "${path}: " DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 300)
endfunction()
