# For all single-process tests of the course; included first.
add_library(dist_catch2_main OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/main.cpp)
target_link_libraries(dist_catch2_main PUBLIC dist::base dist::built_quickly Catch2::Catch2)
target_sources(dist_catch2_main INTERFACE $<TARGET_OBJECTS:dist_session>)
