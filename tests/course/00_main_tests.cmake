# For all single-process tests of the course; included first.

# Catch2's main(): a library of version 3, one slow file with version 2.
if(Catch2_VERSION VERSION_GREATER_EQUAL 3)
  add_library(dist_catch2_main INTERFACE)
  target_link_libraries(dist_catch2_main INTERFACE dist::base dist::built_quickly Catch2::Catch2WithMain)
else()
  add_library(dist_catch2_main OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/catch2_main.cpp)
  target_link_libraries(dist_catch2_main PUBLIC dist::base dist::built_quickly Catch2::Catch2)
endif()
