# Gloo, the distribution's (libgloo-dev): Gloo::Gloo. PyTorch's wheels have a Gloo of their own, without its headers.

find_path(Gloo_INCLUDE_DIR gloo/config.h)
find_library(Gloo_LIBRARY gloo)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Gloo REQUIRED_VARS Gloo_LIBRARY Gloo_INCLUDE_DIR)
mark_as_advanced(Gloo_INCLUDE_DIR Gloo_LIBRARY)

if(Gloo_FOUND AND NOT TARGET Gloo::Gloo)
  add_library(Gloo::Gloo INTERFACE IMPORTED)
  target_include_directories(Gloo::Gloo INTERFACE ${Gloo_INCLUDE_DIR})
  target_link_libraries(Gloo::Gloo INTERFACE ${Gloo_LIBRARY})
endif()
