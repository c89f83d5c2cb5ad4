# Pictures of training logs, and the command that draws them.
add_executable(plot_test EXCLUDE_FROM_ALL plot_test.cpp)
target_link_libraries(plot_test PRIVATE dist_catch2_main dist::plots dist::warnings fmt::fmt)
target_compile_definitions(plot_test PRIVATE
  REPOSITORY="${PROJECT_SOURCE_DIR}" SHARDLINGS_CLI="$<TARGET_FILE:shardlings_cli>")
add_dependencies(plot_test shardlings_cli)
add_test(NAME plot COMMAND plot_test)
set_tests_properties(plot PROPERTIES LABELS plots)
