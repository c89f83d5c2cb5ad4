# Sockets, and the network that errs.
add_executable(network_test EXCLUDE_FROM_ALL
  network_test.cpp ${PROJECT_SOURCE_DIR}/tests/harness/network/faulty_network.cpp)
target_link_libraries(network_test PRIVATE dist_catch2_main dist::net dist::warnings Threads::Threads)
add_test(NAME network COMMAND network_test)
set_tests_properties(network PROPERTIES LABELS network TIMEOUT 120)
