# What programs of elastic jobs are made of.
add_executable(lighthouse_test EXCLUDE_FROM_ALL lighthouse_test.cpp ${PROJECT_SOURCE_DIR}/course/elastic/lighthouse.cpp)
target_link_libraries(lighthouse_test PRIVATE
  dist_catch2_main solution_quorum_step solution_chunk_bounds solution_tcp_store solution_tcp_store_server dist::warnings Threads::Threads)
add_test(NAME lighthouse COMMAND lighthouse_test)
set_tests_properties(lighthouse PROPERTIES TIMEOUT 60)
add_executable(worker_processes_test EXCLUDE_FROM_ALL worker_processes_test.cpp)
target_link_libraries(worker_processes_test PRIVATE dist_catch2_main dist::core dist::warnings Threads::Threads)
add_test(NAME worker_processes COMMAND worker_processes_test)
set_tests_properties(worker_processes PROPERTIES TIMEOUT 60)
