# `cmake --install` and the package: find_package(Strata), target_link_libraries(app Strata::strata),
# #include "strata/ops/tensor.h". Public headers are the .h files that do not end in _p.h, and the tables they include.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

add_library(strata INTERFACE)
add_library(Strata::strata ALIAS strata)
get_property(folders GLOBAL PROPERTY STRATA_FOLDERS)
set(libraries ${folders})
list(TRANSFORM libraries REPLACE "/" "_")
list(TRANSFORM libraries PREPEND strata_)
target_link_libraries(strata INTERFACE ${libraries})
get_property(rooms GLOBAL PROPERTY STRATA_ROOMS)  # linked through the folders that have them; nobody sees their headers
list(TRANSFORM rooms REPLACE "/" "_")
list(TRANSFORM rooms PREPEND strata_)
target_include_directories(strata INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(strata INTERFACE cxx_std_20)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Strata)
install(TARGETS strata ${libraries} ${rooms} EXPORT StrataTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT cpp)
install(EXPORT StrataTargets NAMESPACE Strata:: DESTINATION ${package} COMPONENT cpp)
foreach(folder IN LISTS folders)
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.h ${PROJECT_SOURCE_DIR}/${folder}/*.def
       ${PROJECT_SOURCE_DIR}/${folder}/*.inc)
  list(FILTER headers EXCLUDE REGEX "_p\\.(h|inc)$")
  install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/strata/${folder} COMPONENT cpp)
endforeach()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/StrataConfig.cmake.in ${PROJECT_BINARY_DIR}/StrataConfig.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/StrataConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/StrataConfig.cmake ${PROJECT_BINARY_DIR}/StrataConfigVersion.cmake
        DESTINATION ${package} COMPONENT cpp)
