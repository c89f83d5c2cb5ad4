# The bench: its arithmetic, and a run of two ranks. A time is never tested.
add_executable(lab_test EXCLUDE_FROM_ALL lab_test.cpp lab_blocks_test.cpp lab_formats_test.cpp lab_report_test.cpp lab_picture_test.cpp lab_verdict_test.cpp)
target_link_libraries(lab_test
  PRIVATE dist_catch2_main dist::lab dist::warnings fmt::fmt nlohmann_json::nlohmann_json)
compile_together(lab_test)
target_compile_definitions(lab_test PRIVATE REPOSITORY="${PROJECT_SOURCE_DIR}")
add_test(NAME lab COMMAND lab_test)
set_tests_properties(lab PROPERTIES LABELS lab)

add_executable(lab_bench_test EXCLUDE_FROM_ALL lab_bench_test.cpp)
target_link_libraries(lab_bench_test
  PRIVATE dist_catch2_main dist::cli dist::warnings nlohmann_json::nlohmann_json)
target_compile_definitions(lab_bench_test PRIVATE BENCH="$<TARGET_FILE:bench>")
add_dependencies(lab_bench_test bench)
add_test(NAME lab_bench COMMAND lab_bench_test)
set_tests_properties(lab_bench PROPERTIES LABELS lab TIMEOUT 300)

# How ranks are laid on cores, on 2, 3 and 4 ranks.
add_executable(placements EXCLUDE_FROM_ALL placements.cpp)
target_link_libraries(placements PRIVATE dist::lab dist::warnings)
target_compile_definitions(lab_bench_test PRIVATE PLACEMENTS="$<TARGET_FILE:placements>")
add_dependencies(lab_bench_test placements)

# On two nodes, where namespaces can stand for them.
add_test(NAME two_nodes_bench
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/two_nodes_test.sh $<TARGET_FILE:shardlings_cli> bench)
set_tests_properties(two_nodes_bench PROPERTIES LABELS lab SKIP_RETURN_CODE 77 TIMEOUT 600)
add_dependencies(lab_bench_test shardlings_cli)
