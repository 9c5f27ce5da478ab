# `cmake --install` and the package: find_package(Strata), target_link_libraries(app Strata::strata),
# #include "strata/ops/tensor.h". Public headers are the .h files that do not end in _p.h, and the tables they include.
include(CMakePackageConfigHelpers)

add_library(strata INTERFACE)
add_library(Strata::strata ALIAS strata)
get_property(folders GLOBAL PROPERTY STRATA_FOLDERS)
set(libraries ${folders})
list(TRANSFORM libraries REPLACE "/" "_")
list(TRANSFORM libraries PREPEND strata_)
target_link_libraries(strata INTERFACE ${libraries})
# Linked through the folders that need them; nobody sees their headers.
set(rooms "")
set(pending ${folders})
while(pending)
  list(POP_FRONT pending folder)
  string(REPLACE "/" "_" folder ${folder})
  get_property(needs GLOBAL PROPERTY STRATA_NEEDS_${folder})
  list(REMOVE_ITEM needs ${folders} ${rooms})
  list(APPEND rooms ${needs})
  list(APPEND pending ${needs})
endwhile()
list(TRANSFORM rooms REPLACE "/" "_")
list(TRANSFORM rooms PREPEND strata_)

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
foreach(component cpp c)
  install(FILES ${PROJECT_BINARY_DIR}/StrataConfig.cmake ${PROJECT_BINARY_DIR}/StrataConfigVersion.cmake
          DESTINATION ${package} COMPONENT ${component})
endforeach()
