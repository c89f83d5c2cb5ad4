# The runtime, as far as one process goes; messages are the exercises' tests.
add_executable(runtime_test EXCLUDE_FROM_ALL runtime_test.cpp flight_record_test.cpp
  pipeline_actions_test.cpp)
target_link_libraries(runtime_test PRIVATE dist_catch2_main dist::runtime dist::warnings)
add_test(NAME runtime COMMAND runtime_test)
set_tests_properties(runtime PROPERTIES LABELS runtime)
